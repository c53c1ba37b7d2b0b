#include <algorithm>
#include <array>

#include "api/call.h"
#include "api/execution.h"
#include "api/handlers.h"
#include "api/headers.h"
#include "api/job_result.h"
#include "api/job_text.h"
#include "api/list_query.h"
#include "schemas/json_text.h"
#include "schemas/page_list.h"
#include "storage/job_queries.h"

namespace millrace::api {
namespace {

using base::Code;
using schemas::Field;
using schemas::FieldType;
using schemas::JobId;
using schemas::JobView;

constexpr std::size_t kIdsMax = 100;
constexpr std::int64_t kTextMax = 255;
constexpr std::int64_t kPagesTextMax = 8192;

struct ListQuery : PageQuery {
  std::string kind, status, model, ids, q;
  std::optional<base::WallTime> created_after, created_before;
};
template <auto Member>
constexpr auto into = &schemas::store_in<ListQuery, Member>;

constexpr std::array<std::string_view, 2> kKindNames{"ocr", "exec"};
static_assert(kKindNames.size() == schemas::kKinds.size(), "a new kind is a new choice here");
constexpr std::array<std::string_view, 6> kStatusNames{"queued", "running",   "succeeded",
                                                       "failed", "cancelled", "expired"};

constexpr std::array kListFields{
    Field{.name = "kind", .text = "Only this kind", .choices = kKindNames, .store = into<&ListQuery::kind>},
    Field{.name = "status",
          .text = "Only this status",
          .choices = kStatusNames,
          .store = into<&ListQuery::status>},
    Field{.name = "model", .text = "Only this model", .max = kTextMax, .store = into<&ListQuery::model>},
    Field{.name = "created_after",
          .type = FieldType::kTime,
          .text = "Only jobs made after this time",
          .store = into<&ListQuery::created_after>},
    Field{.name = "created_before",
          .type = FieldType::kTime,
          .text = "Only jobs made before this time",
          .store = into<&ListQuery::created_before>},
    Field{.name = "ids",
          .text = "Only these jobs: at most 100 ids, separated by commas, and none if it is empty; "
                  "excludes the other filters",
          .store = into<&ListQuery::ids>},
    Field{.name = "q",
          .text = "Only jobs whose id contains this",
          .max = kTextMax,
          .store = into<&ListQuery::q>},
    limit_field<ListQuery>(),
    cursor_field<ListQuery>(),
};

struct ResultQuery {
  bool partial = false;
  std::string pages;
};
constexpr std::array kResultFields{
    Field{.name = "partial",
          .type = FieldType::kBool,
          .text = "200 with what there is so far",
          .default_json = "false",
          .store = &schemas::store_in<ResultQuery, &ResultQuery::partial>},
    Field{.name = "pages",
          .text = "Only these of the pages that there are so far, such as `0-5,7`: a result too large for "
                  "one reply is read by pages",
          .max = kPagesTextMax,
          .store = &schemas::store_in<ResultQuery, &ResultQuery::pages>},
};

// The job that the path names; answers 404 else, with the words of any job that is not there.
std::optional<JobId> path_job(Call& call) {
  auto id = JobId::parse(call.params.front());
  if (id) {
    call.name_job(id->str());
  } else {
    call.fail(base::error(Code::kNotFound, "There is no such job"));
  }
  return id;
}

void send_page(Context& context, Call& call, const std::vector<JobView>& jobs,
               const std::optional<base::Uuid>& next) {
  std::string items = "[";
  for (const JobView& job : jobs)
    items.append(items.size() > 1 ? "," : "").append(job_json(job, context.options.public_url));
  schemas::JsonObject out;
  out.raw("items", items + "]");
  if (next) out.member("next_cursor", job_cursor(*next));
  call.reply(json_reply(200, out.finish()));
}

// nullopt: one of them is no job id.
std::optional<std::vector<JobId>> split_ids(std::string_view text) {
  std::vector<JobId> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    const auto id = JobId::parse(text.substr(0, end));
    if (!id) return std::nullopt;
    out.push_back(*id);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

void list_by_ids(Context& context, Call& call, const ListQuery& query) {
  const bool alone = query.kind.empty() && query.status.empty() && query.model.empty() && query.q.empty() &&
                     query.cursor.empty() && !query.created_after && !query.created_before;
  if (!alone) return refuse_query(call, "ids", "`ids` excludes the other filters and the cursor");
  const auto ids = split_ids(query.ids);
  if (!ids) return refuse_query(call, "ids", "Input should be job ids separated by commas");
  if (ids->size() > kIdsMax) return refuse_query(call, "ids", "List should have at most 100 ids");
  const auto jobs = storage::JobQueries(context.store).jobs(call.tenant(), *ids);
  if (!jobs) return call.fail(jobs.error());
  send_page(context, call, *jobs, std::nullopt);
}

storage::JobFilter filter_of(const ListQuery& query) {
  storage::JobFilter out;
  if (!query.kind.empty()) out.kind = schemas::kind_named(query.kind);
  if (!query.status.empty()) out.status = query.status;
  if (!query.model.empty()) out.model = query.model;
  out.created_after = query.created_after;
  out.created_before = query.created_before;
  out.id_contains = query.q;
  return out;
}

// A filter that hardly a row passes may make a page look at a tenant's whole history. It does so in bounded
// turns, with others of the pool between them, while its client is there. A page with something in it goes
// off at the end of a turn, with a cursor for the rest; one without goes on: no page is empty and has a
// cursor.
void look_for_page(Context& context, const CallPtr& call, const storage::JobFilter& filter, int limit,
                   const std::optional<base::Uuid>& before) {
  const auto page = storage::JobQueries(context.store)
                        .list(call->tenant(), filter, limit, before, context.options.list_rows_max);
  if (!page) return call->fail(page.error());
  if (!page->items.empty() || !page->next) return send_page(context, *call, page->items, page->next);
  if (!call->responder().alive()) return;
  on_pool(context, base::Pool::Lane::kQuick, call, [&context, call, filter, limit, next = page->next] {
    look_for_page(context, call, filter, limit, next);
  });
}

// A job as it is after a wait that has ended.
void send_job(Context& context, Call& call, const JobId& id) {
  const auto job = storage::JobQueries(context.store).job(call.tenant(), id);
  if (!job) return call.fail(job.error());
  call.reply(json_reply(200, job_json(*job, context.options.public_url)));
}

// `Prefer: wait=SECONDS`: registers, then reads the row once; answers when the job is over or time is up.
void wait_for_job(Context& context, const CallPtr& call, const JobId& id, std::chrono::seconds wanted) {
  const auto limit = std::min<std::chrono::milliseconds>(wanted, context.options.prefer_wait_max);
  const auto wait = context.waits.wait(id, 0, limit, [&context, call, id](JobWait::End) {
    owed_on_pool(context, call, [&context, call, id] { send_job(context, *call, id); });
  });
  call->on_gone([weak = std::weak_ptr(wait)] {
    if (const auto held = weak.lock()) held->cancel();
  });
  const auto job = storage::JobQueries(context.store).job(call->tenant(), id);
  if (!job) {
    wait->cancel();
    return call->fail(job.error());
  }
  if (schemas::is_terminal(job->status)) wait->job_is_over();
}

}  // namespace

std::span<const Field> job_list_fields() { return kListFields; }
std::span<const Field> job_result_fields() { return kResultFields; }

void list_jobs(Context& context, CallPtr call) {
  ListQuery query;
  std::optional<base::Uuid> before;
  if (!read_query(*call, kListFields, &query)) return;
  if (was_sent(*call, "ids")) return list_by_ids(context, *call, query);
  if (!read_cursor(*call, query.cursor, &job_cursor_of, before)) return;
  look_for_page(context, call, filter_of(query), query.limit, before);
}

void get_job(Context& context, CallPtr call) {
  const auto id = path_job(*call);
  if (!id) return;
  const Prefer wish = prefer(call->head());
  if (wish.wait && wish.wait->count() > 0) return wait_for_job(context, call, *id, *wish.wait);
  send_job(context, *call, *id);
}

void cancel_job(Context& context, CallPtr call) {
  const auto id = path_job(*call);
  if (!id) return;
  context.control.cancel(call->tenant(), *id, [&context, call](const base::Result<JobView>& job) {
    if (!job) return call->fail(job.error());
    call->reply(json_reply(200, job_json(*job, context.options.public_url)));
  });
}

void retry_job(Context& context, CallPtr call) {
  const auto id = path_job(*call);
  if (!id) return;
  context.control.retry(call->tenant(), *id, traceparent(call->head()),
                        [&context, call](const base::Result<storage::Submitted>& made) {
                          if (!made) return call->fail(made.error());
                          context.places.keep(call->take_place(), made->job);
                          owed_on_pool(context, call, [&context, call, fresh = made->job] {
                            call->name_job(fresh.str());
                            const auto job = storage::JobQueries(context.store).job(call->tenant(), fresh);
                            if (!job) return call->fail(job.error());
                            front::Reply reply = json_reply(202, job_json(*job, context.options.public_url));
                            add_header(reply, "location", job_url(fresh, context.options.public_url));
                            call->reply(std::move(reply));
                          });
                        });
}

void job_result(Context& context, CallPtr call) {
  const auto id = path_job(*call);
  if (!id) return;
  ResultQuery query;
  if (!read_query(*call, kResultFields, &query)) return;
  const auto pages = query.pages.empty() ? schemas::PageList() : schemas::parse_pages(query.pages);
  if (!pages) return refuse_query(*call, "pages", "Input should be page numbers such as \"0-5,7\"");
  if (id->kind == schemas::Kind::kExec) return send_execution_result(context, *call, *id, query.partial);
  if (query.partial || !pages->empty()) return send_partial_result(context, *call, *id, *pages);
  send_result(context, *call, *id, Freshness::kFirst);
}

}  // namespace millrace::api
