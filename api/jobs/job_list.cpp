#include "api/jobs/job_list.h"

#include <algorithm>
#include <array>

#include "api/handlers.h"
#include "api/jobs/job_handlers.h"
#include "api/jobs/job_scope.h"
#include "api/jobs/job_text.h"
#include "api/routing/page.h"
#include "schemas/batches/batch.h"
#include "storage/admin/admin_queries.h"

namespace millrace::api {
namespace {

using schemas::Field;
using schemas::FieldType;
using schemas::JobId;
using schemas::JobView;

constexpr std::size_t kIdsMax = 100;
constexpr std::int64_t kTextMax = 255;

// The jobs in a list: those of the caller's tenant, or of all tenants.
enum class Reach : std::uint8_t { kTenant, kAll };

template <auto Member>
constexpr auto into = &schemas::store_in<JobListQuery, Member>;

constexpr std::array<std::string_view, 4> kKindNames{"ocr", "exec", "chat", "stt"};
static_assert(kKindNames.size() + 1 == schemas::kKinds.size(),
              "add the new kind to the choices; machine operations are not listed");
constexpr std::array<std::string_view, 8> kStatusNames{
    "scheduled", "wake_in_progress", "queued", "running", "succeeded", "failed", "cancelled", "expired"};

void read_metadata_filter(void* object, schemas::FieldReader& reader, const schemas::Json& value) {
  static_cast<JobListQuery*>(object)->metadata = schemas::read_metadata(reader, value);
}

constexpr std::array kJobListFields{
    Field{
        .name = "kind", .text = "Only this kind", .choices = kKindNames, .store = into<&JobListQuery::kind>},
    Field{.name = "status",
          .text = "Only this status",
          .choices = kStatusNames,
          .store = into<&JobListQuery::status>},
    Field{.name = "model", .text = "Only this model", .max = kTextMax, .store = into<&JobListQuery::model>},
    Field{.name = "error",
          .text = "Only failed jobs with this error `code`",
          .max = kTextMax,
          .store = into<&JobListQuery::error>},
    Field{.name = "created_after",
          .type = FieldType::kTime,
          .text = "Only jobs created at this time or later",
          .store = into<&JobListQuery::created_after>},
    Field{.name = "created_before",
          .type = FieldType::kTime,
          .text = "Only jobs created before this time",
          .store = into<&JobListQuery::created_before>},
    Field{.name = "ids",
          .text = "Only the jobs with these ids: at most 100, separated by commas. An empty value matches no "
                  "job. Cannot be combined with other filters",
          .store = into<&JobListQuery::ids>},
    Field{.name = "q",
          .text = "Only jobs whose id or name contains this",
          .max = kTextMax,
          .store = into<&JobListQuery::q>},
    Field{.name = "metadata",
          .type = FieldType::kAnyObject,
          .text = "Only jobs whose `metadata` has this value for KEY; at most 16 such parameters. In "
                  "`filter` of a bulk "
                  "call, an object `metadata`",
          .store = &read_metadata_filter},
    Field{.name = "batch",
          .text = "Only jobs of the lines of this batch",
          .max = kTextMax,
          .store = into<&JobListQuery::batch>},
    limit_field<JobListQuery>(),
    cursor_field<JobListQuery>(),
};

// The same fields and the tenant.
constexpr auto kAllJobsFields = [] {
  std::array<Field, kJobListFields.size() + 1> all{};
  std::copy(kJobListFields.begin(), kJobListFields.end(), all.begin());
  all.back() = {.name = "tenant",
                .text = "Only this tenant's jobs",
                .min = 1,
                .max = kTextMax,
                .store = into<&JobListQuery::tenant>};
  return all;
}();

std::string text_of(Reach reach, const Context& context, const JobView& job, BlockedJobs& blocked) {
  return reach == Reach::kAll ? job_json_with_tenant(job, context.options.public_url, blocked.of(job))
                              : job_json(job, context.options.public_url, blocked.of(job));
}

void send_jobs(Context& context, Call& call, Reach reach, const std::vector<JobView>& jobs,
               const std::optional<base::Uuid>& next) {
  Page page(context);
  BlockedJobs blocked(context.store);
  const auto text = [&](const JobView& job) {
    return text_of(reach, context, shown_to(*call.principal, job), blocked);
  };
  while (page.count() < jobs.size() && page.add(text(jobs[page.count()]))) {
  }
  const bool ends_early = page.count() > 0 && page.count() < jobs.size();
  if (!ends_early) return page.send(call, next ? job_cursor(*next) : std::string());
  if (was_sent(call, "ids")) return call.fail(reply_budget_exhausted());  // such a list has no second page
  page.send(call, job_cursor(jobs[page.count() - 1].id.uuid));
}

// Without duplicates. nullopt if one of them is not a job id.
std::optional<std::vector<JobId>> split_ids(std::string_view text) {
  std::vector<JobId> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    const auto id = shown_job_id(text.substr(0, end));
    if (!id) return std::nullopt;
    if (std::ranges::find(out, *id) == out.end()) out.push_back(*id);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

void list_by_ids(Context& context, Call& call, Reach reach, const JobListQuery& query) {
  const bool alone = query.kind.empty() && query.status.empty() && query.model.empty() && query.q.empty() &&
                     query.error.empty() && query.tenant.empty() && query.cursor.empty() &&
                     !query.created_after && !query.created_before && query.metadata.empty() &&
                     query.batch.empty();
  if (!alone) return refuse_query(call, "ids", "`ids` cannot be combined with other filters or a cursor");
  const auto ids = split_ids(query.ids);
  if (!ids) return refuse_query(call, "ids", "Input should be job ids separated by commas");
  if (ids->size() > kIdsMax) return refuse_query(call, "ids", "List should have at most 100 ids");
  const auto jobs = reach == Reach::kAll ? storage::AdminQueries(context.store).jobs(*ids)
                                         : storage::JobQueries(context.store).jobs(call.tenant(), *ids);
  if (!jobs) return call.fail(jobs.error());
  send_jobs(context, call, reach, *jobs, std::nullopt);
}

// A selective filter may have to scan a tenant's whole history. The scan runs in bounded steps; between them
// the pool runs other work. It stops if the client disconnects. If a step has found jobs, the page is sent
// with a cursor for the rest; otherwise the next step follows. An empty page therefore never has a cursor.
void look_for_page(Context& context, const CallPtr& call, Reach reach, const storage::JobFilter& filter,
                   int limit, const std::optional<base::Uuid>& before) {
  const int rows_max = context.options.list_rows_max;
  const auto page =
      reach == Reach::kAll
          ? storage::AdminQueries(context.store).jobs(filter, limit, before, rows_max)
          : storage::JobQueries(context.store).list(call->tenant(), filter, limit, before, rows_max);
  if (!page) return call->fail(page.error());
  if (!page->items.empty() || !page->next) return send_jobs(context, *call, reach, page->items, page->next);
  if (!call->responder().alive()) return;
  on_pool(context, base::Pool::Queue::kQuick, call,
          [&context, call, reach, filter, limit, next = page->next] {
            look_for_page(context, call, reach, filter, limit, next);
          });
}

void list(Context& context, const CallPtr& call, Reach reach) {
  JobListQuery query;
  std::optional<base::Uuid> before;
  const auto fields = reach == Reach::kAll ? all_job_list_fields() : job_list_fields();
  if (!read_query(*call, fields, &query)) return;
  if (was_sent(*call, "ids")) return list_by_ids(context, *call, reach, query);
  if (!read_cursor(*call, query.cursor, &job_cursor_of, before)) return;
  look_for_page(context, call, reach, filter_of(query, *call->principal), query.limit, before);
}

bool is_of_digits(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef-") == std::string_view::npos;
}

// True for texts that are searched in ids alone, with an index: those that begin like an id, and long ones of
// its digits.
bool is_part_of_id(std::string_view text) {
  constexpr std::size_t kDigitsMin = 8;
  for (const schemas::Kind kind : schemas::kKinds) {
    if (text.starts_with(schemas::prefix(kind)))
      return is_of_digits(text.substr(schemas::prefix(kind).size()));
  }
  return text.size() >= kDigitsMin && is_of_digits(text);
}

}  // namespace

storage::JobFilter filter_of(const JobListQuery& query, const Principal& principal) {
  storage::JobFilter out;
  if (!query.kind.empty()) out.kind = schemas::kind_named(query.kind);
  if (!query.status.empty()) out.status = query.status;
  if (!query.model.empty()) out.model = query.model;
  if (!query.error.empty()) out.error = query.error;
  out.created_after = query.created_after;
  out.created_before = query.created_before;
  (is_part_of_id(query.q) ? out.id_contains : out.text) = query.q;
  out.names_hidden = hidden_kinds(principal);
  out.metadata = query.metadata;
  // What is no id of a batch matches nothing.
  if (!query.batch.empty()) out.batch = schemas::batch_id_from(query.batch).value_or(base::Uuid());
  if (!query.tenant.empty()) out.tenant = query.tenant;
  return out;
}

std::span<const Field> job_list_fields() { return kJobListFields; }
std::span<const Field> all_job_list_fields() { return kAllJobsFields; }

void list_jobs(Context& context, CallPtr call) { list(context, call, Reach::kTenant); }
void list_all_jobs(Context& context, CallPtr call) { list(context, call, Reach::kAll); }

}  // namespace millrace::api
