#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>

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

// What became of a chosen job.
struct Outcome {
  enum class Kind : std::uint8_t { kUnchanged, kChanged, kRetriedBefore };
  Kind kind = Kind::kChanged;
  std::string_view reason = {};  // of kUnchanged: a word for AdminBulk::unchanged
};

Outcome unchanged(std::string_view reason) { return {Outcome::Kind::kUnchanged, reason}; }

// Operations that run concurrently; the last one to finish sends the response.
class Bulk {
 public:
  // `next`: where the next call continues; absent if there are no more jobs.
  Bulk(CallPtr call, Act act, std::size_t matched, std::optional<base::Uuid> next)
      : call_(std::move(call)), act_(act), matched_(matched), left_(matched + 1), next_(next) {}

  void over(const Outcome& outcome) {
    {
      const std::lock_guard lock(mutex_);
      if (outcome.kind == Outcome::Kind::kChanged) ++changed_;
      if (outcome.kind == Outcome::Kind::kRetriedBefore) ++retried_before_;
      if (outcome.kind == Outcome::Kind::kUnchanged) ++unchanged_[outcome.reason];
    }
    end_one();
  }
  // An operation has ended, or the caller has started all of them.
  void end_one() {
    if (--left_ == 0) reply();
  }

 private:
  using JsonObject = schemas::JsonObject;
  void reply() {
    JsonObject out;
    out.number("matched", static_cast<std::int64_t>(matched_) - retried_before_).number("changed", changed_);
    if (act_ == Act::kRetry) out.number("already_retried", retried_before_);
    JsonObject reasons;
    for (const auto& [reason, jobs] : unchanged_) reasons.number(reason, jobs);
    if (!unchanged_.empty()) out.raw("unchanged", reasons.finish());
    if (next_) out.member("next_cursor", job_cursor(*next_));
    call_->reply(json_reply(200, out.finish()));
  }

  const CallPtr call_;
  const Act act_;
  const std::size_t matched_;
  std::atomic<std::size_t> left_;  // unfinished operations, plus one for the caller that starts them
  std::mutex mutex_;               // guards the next three until the last operation has ended
  std::int64_t changed_ = 0, retried_before_ = 0;
  std::map<std::string_view, std::int64_t> unchanged_;  // by reason
  const std::optional<base::Uuid> next_;
};

// Calls `run(job, over)` for each chosen job for which `hindrance` gives no reason.
template <class Run>
void act_on(const CallPtr& call, Act act, const Chosen& chosen, std::string_view (*hindrance)(const JobView&),
            const Run& run) {
  const auto bulk = std::make_shared<Bulk>(call, act, chosen.jobs.size(), chosen.next);
  for (const JobView& job : chosen.jobs) {
    const std::string_view reason = hindrance(job);
    if (!reason.empty()) {
      bulk->over(unchanged(reason));
    } else {
      run(job, [bulk](const Outcome& outcome) { bulk->over(outcome); });
    }
  }
  bulk->end_one();
}

// Records the call, then `act`s on the pool. The row has the number of chosen jobs, whether they change or
// not.
void audited(Context& context, const CallPtr& call, std::string act, Chosen chosen,
             std::function<void(const Chosen&)> next) {
  storage::AuditEntry entry{
      .tenant = call->tenant(), .actor = call->principal->key_id, .act = std::move(act), .target = "jobs"};
  entry.data = schemas::JsonObject().number("jobs", static_cast<std::int64_t>(chosen.jobs.size())).finish();
  const auto jobs = std::make_shared<Chosen>(std::move(chosen));
  storage::Audit(context.store)
      .append(std::move(entry),
              [&context, call, jobs, next = std::move(next)](const base::Result<bool>& done) {
                if (!done) return call->fail(done.error());
                reply_on_pool(context, call, [jobs, next] { next(*jobs); });
              });
}

// Why a job cannot be cancelled, retried or deleted; empty: it can.
std::string_view cancel_hindrance(const JobView& job) {
  if (schemas::is_terminal(job.status)) return "already_ended";
  return job.cancel_requested ? "already_cancelling" : "";
}

std::string_view retry_hindrance(const JobView& job) {
  if (!schemas::can_be_retried(job.id.kind)) return "not_retryable";
  if (job.status == schemas::JobStatus::kSucceeded) return "succeeded";
  return schemas::is_terminal(job.status) ? "" : "not_ended";
}

std::string_view delete_hindrance(const JobView&) { return {}; }

}  // namespace

void admin_cancel_jobs(Context& context, CallPtr call) {
  auto chosen = choose(context, *call);
  if (!chosen) return;
  audited(context, call, "jobs.cancel", *std::move(chosen), [&context, call](const Chosen& jobs) {
    act_on(call, Act::kCancel, jobs, &cancel_hindrance, [&](const JobView& job, auto over) {
      context.intake.cancel({job.tenant, call->principal->key_id}, job.id,
                            [over](const base::Result<JobView>& done) {
                              over(done ? Outcome() : unchanged(base::name(done.error().code)));
                            });
    });
  });
}

void admin_retry_jobs(Context& context, CallPtr call) {
  auto chosen = choose(context, *call);
  if (!chosen) return;
  for (const JobView& job : chosen->jobs) {
    const base::Status may = check_scope(*call->principal, job.id.kind);
    if (!may && retry_hindrance(job).empty()) return call->fail(may.error());
  }
  audited(context, call, "jobs.retry", *std::move(chosen), [&context, call](const Chosen& jobs) {
    const std::string trace = traceparent(call->head());
    act_on(call, Act::kRetry, jobs, &retry_hindrance, [&](const JobView& job, auto over) {
      storage::Retry retry{.by = {.tenant = job.tenant},
                           .old = job.id,
                           .only_once = true,
                           .traceparent = trace,
                           .cost_max = retry_cost_max(context, {.tenant = job.tenant, .key_id = {}}, job.id)};
      context.submit.retry(std::move(retry), [over](const base::Result<storage::Submitted>& made) {
        if (!made) return over(unchanged(base::name(made.error().code)));
        over({made->replayed ? Outcome::Kind::kRetriedBefore : Outcome::Kind::kChanged});
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
  for (const JobView& job : chosen->jobs) {
    if (const base::Status may = check_scope(*call->principal, job.id.kind); !may)
      return call->fail(may.error());
  }
  audited(context, call, "jobs.delete", *std::move(chosen), [&context, call](const Chosen& jobs) {
    act_on(call, Act::kDelete, jobs, &delete_hindrance, [&](const JobView& job, auto over) {
      storage::IdempotentCall by{.tenant = job.tenant, .actor = call->principal->key_id, .key = {}};
      const auto no_reply = [](const JobView&) { return std::string(); };
      context.intake.remove(job.id, std::move(by), no_reply,
                            [&context, over](base::Result<storage::Removed> removed) {
                              over(removed ? Outcome() : unchanged(base::name(removed.error().code)));
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
