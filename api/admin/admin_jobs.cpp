#include <algorithm>
#include <atomic>
#include <memory>

#include "api/admin/admin_text.h"
#include "api/call.h"
#include "api/handlers.h"
#include "api/headers.h"
#include "api/jobs/job_list.h"
#include "api/jobs/job_scope.h"
#include "api/jobs/job_text.h"
#include "api/tenants/job_cost.h"
#include "schemas/admin_request.h"
#include "schemas/json/json_text.h"
#include "storage/admin/admin_queries.h"
#include "storage/admin/audit.h"

namespace millrace::api {
namespace {

using schemas::JobId;
using schemas::JobView;

// Jobs that one call acts on; `next_cursor` continues with the others.
constexpr int kBulkMax = 1000;
constexpr int kBulkRowsMax = 200'000;  // rows that are scanned for them

struct Chosen {
  std::vector<JobView> jobs;
  std::optional<base::Uuid> next{};
};

schemas::Refusal bad_field(std::string name, std::string msg) {
  return schemas::invalid({{.loc = {"body", std::move(name)},
                            .msg = std::move(msg),
                            .type = "value_error",
                            .input = {},
                            .ctx = {}}});
}

constexpr int kNotGiven = 0;  // a sent `limit` is at least 1

// nullopt: an error was sent.
std::optional<std::vector<JobId>> ids_of(Call& call, const std::vector<std::string>& texts) {
  std::vector<JobId> ids;
  for (const std::string& text : texts) {
    const auto id = shown_job_id(text);
    if (!id) {
      call.refuse(bad_field("ids", "Input should be job ids"));
      return std::nullopt;
    }
    ids.push_back(*id);
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

std::optional<Chosen> chosen_by_ids(Context& context, Call& call, const std::vector<std::string>& texts) {
  const auto ids = ids_of(call, texts);
  if (!ids) return std::nullopt;
  auto jobs = storage::AdminQueries(context.store).jobs(*ids);
  if (!jobs) {
    call.fail(jobs.error());
    return std::nullopt;
  }
  return Chosen{.jobs = *std::move(jobs)};
}

std::optional<Chosen> chosen_by_filter(Context& context, Call& call, const JobListQuery& query) {
  // Neither has an effect here. If they were ignored, a call would act on more jobs than its client intended.
  if (!query.ids.empty() || query.limit != kNotGiven) {
    call.refuse(bad_field("filter",
                          "`ids` and `limit` are not allowed in `filter`: send `ids` instead of `filter`, "
                          "and omit `limit`"));
    return std::nullopt;
  }
  std::optional<base::Uuid> before;
  if (!query.cursor.empty()) before = job_cursor_of(query.cursor);
  if (!query.cursor.empty() && !before) {
    call.refuse(bad_field("filter", "`cursor` should be a `next_cursor` of this call"));
    return std::nullopt;
  }
  auto page = storage::AdminQueries(context.store)
                  .jobs(filter_of(query, *call.principal), kBulkMax, before, kBulkRowsMax);
  if (!page) {
    call.fail(page.error());
    return std::nullopt;
  }
  return Chosen{.jobs = std::move(page->items), .next = page->next};
}

// The jobs that the body selects. nullopt: an error was sent.
std::optional<Chosen> choose(Context& context, Call& call) {
  JobListQuery query;
  query.limit = kNotGiven;
  const auto request = schemas::parse_bulk_request(call.body(), all_job_list_fields(), &query);
  if (!request) {
    call.refuse(request.error());
    return std::nullopt;
  }
  return request->ids ? chosen_by_ids(context, call, *request->ids) : chosen_by_filter(context, call, query);
}

enum class Act : std::uint8_t { kCancel, kRetry, kDelete };
enum class Outcome : std::uint8_t { kUnchanged, kChanged, kRetriedBefore };

// Operations that run concurrently; the last one to finish sends the response.
class Bulk {
 public:
  // `next`: where the next call continues; absent if there are no more jobs.
  Bulk(CallPtr call, Act act, std::size_t matched, std::size_t acts, std::optional<base::Uuid> next)
      : call_(std::move(call)), act_(act), matched_(matched), left_(acts + 1), next_(next) {}

  void over(Outcome outcome) {
    if (outcome == Outcome::kChanged) ++changed_;
    if (outcome == Outcome::kRetriedBefore) ++retried_before_;
    if (--left_ > 0) return;
    JsonObject out;
    out.number("matched", static_cast<std::int64_t>(matched_) - retried_before_).number("changed", changed_);
    if (act_ == Act::kRetry) out.number("already_retried", retried_before_);
    if (next_) out.member("next_cursor", job_cursor(*next_));
    call_->reply(json_reply(200, out.finish()));
  }

 private:
  using JsonObject = schemas::JsonObject;
  const CallPtr call_;
  const Act act_;
  const std::size_t matched_;
  std::atomic<std::size_t> left_;  // unfinished operations, plus one for the caller that starts them
  std::atomic<std::int64_t> changed_{0}, retried_before_{0};
  const std::optional<base::Uuid> next_;
};

// Calls `run(job, over)` for each chosen job that `fits`.
template <class Fits, class Run>
void act_on(const CallPtr& call, Act act, Chosen chosen, const Fits& fits, const Run& run) {
  const std::size_t matched = chosen.jobs.size();
  std::erase_if(chosen.jobs, [&](const JobView& job) { return !fits(job); });
  const auto bulk = std::make_shared<Bulk>(call, act, matched, chosen.jobs.size(), chosen.next);
  for (const JobView& job : chosen.jobs) run(job, [bulk](Outcome outcome) { bulk->over(outcome); });
  bulk->over(Outcome::kUnchanged);
}

// Records the call, then `act`s on the pool. The row has the number of chosen jobs, whether they change or
// not.
void audited(Context& context, const CallPtr& call, std::string act, Chosen chosen,
             std::function<void(Chosen)> next) {
  storage::AuditEntry entry{
      .tenant = call->tenant(), .actor = call->principal->key_id, .act = std::move(act), .target = "jobs"};
  entry.data = schemas::JsonObject().number("jobs", static_cast<std::int64_t>(chosen.jobs.size())).finish();
  const auto jobs = std::make_shared<Chosen>(std::move(chosen));
  storage::Audit(context.store)
      .append(std::move(entry),
              [&context, call, jobs, next = std::move(next)](const base::Result<bool>& done) {
                if (!done) return call->fail(done.error());
                reply_on_pool(context, call, [jobs, next] { next(std::move(*jobs)); });
              });
}

bool can_be_cancelled(const JobView& job) {
  return !schemas::is_terminal(job.status) && !job.cancel_requested;
}

bool can_be_retried(const JobView& job) {
  const bool over = schemas::is_terminal(job.status) && job.status != schemas::JobStatus::kSucceeded;
  return over && schemas::can_be_retried(job.id.kind);
}

}  // namespace

void admin_cancel_jobs(Context& context, CallPtr call) {
  auto chosen = choose(context, *call);
  if (!chosen) return;
  audited(context, call, "jobs.cancel", *std::move(chosen), [&context, call](Chosen jobs) {
    act_on(call, Act::kCancel, std::move(jobs), &can_be_cancelled, [&](const JobView& job, auto over) {
      context.intake.cancel({job.tenant, call->principal->key_id}, job.id,
                            [over](const base::Result<JobView>& done) {
                              over(done ? Outcome::kChanged : Outcome::kUnchanged);
                            });
    });
  });
}

void admin_retry_jobs(Context& context, CallPtr call) {
  auto chosen = choose(context, *call);
  if (!chosen) return;
  for (const JobView& job : chosen->jobs) {
    const base::Status may = check_scope(*call->principal, job.id.kind);
    if (!may && can_be_retried(job)) return call->fail(may.error());
  }
  audited(context, call, "jobs.retry", *std::move(chosen), [&context, call](Chosen jobs) {
    const std::string trace = traceparent(call->head());
    act_on(call, Act::kRetry, std::move(jobs), &can_be_retried, [&](const JobView& job, auto over) {
      storage::Retry retry{.by = {.tenant = job.tenant},
                           .old = job.id,
                           .only_once = true,
                           .traceparent = trace,
                           .cost_max = retry_cost_max(context, job.tenant, job.id)};
      context.submit.retry(std::move(retry), [over](const base::Result<storage::Submitted>& made) {
        if (!made) return over(Outcome::kUnchanged);
        over(made->replayed ? Outcome::kRetriedBefore : Outcome::kChanged);
      });
    });
  });
}

namespace {

// If the pool is full, the orphan collector deletes the files later.
void unlink_on_pool(Context& context, std::vector<std::string> files) {
  if (files.empty()) return;
  (void)context.pool.post(base::Pool::Queue::kLarge, [&context, files = std::move(files)] {
    for (const std::string& path : files) context.store.blobs().unlink(path);
  });
}

}  // namespace

void admin_delete_jobs(Context& context, CallPtr call) {
  auto chosen = choose(context, *call);
  if (!chosen) return;
  audited(context, call, "jobs.delete", *std::move(chosen), [&context, call](Chosen jobs) {
    const auto any = [](const JobView&) { return true; };
    act_on(call, Act::kDelete, std::move(jobs), any, [&](const JobView& job, auto over) {
      storage::IdempotentCall by{.tenant = job.tenant, .actor = call->principal->key_id, .key = {}};
      const auto no_reply = [](const JobView&) { return std::string(); };
      context.intake.remove(job.id, std::move(by), no_reply,
                            [&context, over](base::Result<storage::Removed> removed) {
                              over(removed ? Outcome::kChanged : Outcome::kUnchanged);
                              if (removed) unlink_on_pool(context, std::move(removed->files));
                            });
    });
  });
}

namespace {

std::string group_json(const storage::FailureGroup& group, const Principal& principal,
                       const std::string& public_url) {
  return schemas::JsonObject()
      .member("kind", schemas::name(group.kind))
      .member("code", group.code)
      .member("type", base::info(base::code_named(group.code)).openai_type)
      .number("jobs", group.jobs)
      .raw("newest", job_json_with_tenant(shown_to(principal, group.newest), public_url))
      .finish();
}

}  // namespace

void admin_dead(Context& context, CallPtr call) {
  const auto failures = storage::AdminQueries(context.store).failures();
  if (!failures) return call->fail(failures.error());
  JsonItems items;
  for (const storage::FailureGroup& group : *failures)
    items.add(group_json(group, *call->principal, context.options.public_url));
  call->reply(json_reply(200, schemas::JsonObject().raw("items", items.finish()).finish()));
}

}  // namespace millrace::api
