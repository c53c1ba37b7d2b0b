#include "storage/jobs/job_outcomes.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "storage/jobs/job_transitions.h"
#include "storage/jobs/kind_rules.h"
#include "storage/jobs/payload_rows.h"
#include "storage/sql.h"
#include "storage/tenants/reservations.h"
#include "storage/webhooks/webhook_outbox.h"

namespace millrace::storage {
namespace {

using schemas::JobStatus;

constexpr std::size_t kOutcomeRowBytes = 512;

// How the lease's owner ends its attempt. A cancel request overrides it.
struct AttemptTransition {
  JobStatus status;
  std::optional<schemas::JobError> error;
  Payload result;
  JobOutcomes::Used used;
};

ReportResult end_attempt(Tx& tx, const Store::Options& options, const Lease& lease,
                         const AttemptTransition& outcome, BlobClaim& blob_claim) {
  auto lease_check = check_lease(tx.db, lease, outcome.status);
  if (!lease_check.row) return lease_check.refusal;
  JobTransitionEnd end{
      .status = outcome.status, .error = outcome.error, .by_owner = true, .used = outcome.used};
  const bool cancel_won = lease_check.row->cancel_requested && outcome.status != JobStatus::kCancelled;
  if (cancel_won) {
    end.status = JobStatus::kCancelled;
    end.error.reset();
  }
  const bool keeps_result = !cancel_won || kind_rules(lease_check.row->kind).keeps_result;
  if (keeps_result && (outcome.result.blob || !outcome.result.bytes.empty())) {
    std::optional<std::int64_t> blob;
    if (outcome.result.blob) blob = blob_claim.take(tx.db, lease_check.row->tenant, outcome.result.blob);
    end.result = insert_result(tx.db, outcome.result.bytes, blob);
    end.result_bytes = payload_bytes(outcome.result);
  }
  JobTransitions(tx, options).end(*lease_check.row, end);
  return cancel_won ? ReportResult::kCancelled : ReportResult::kApplied;
}

void submit_attempt_end(Store& store, Lease lease, AttemptTransition outcome, Callback<ReportResult> done) {
  if (outcome.result.bytes.size() > kInlineMax) {
    return done(base::error(base::Code::kInternal, "a result above 32 KiB must be passed as a blob"));
  }
  const std::size_t bytes = kOutcomeRowBytes + outcome.result.bytes.size();
  auto blob_claim = std::make_shared<BlobClaim>();
  const Store::Options& options = store.options();
  submit_write<ReportResult>(
      store.writer(), Writer::Priority::kUrgent, bytes,
      [lease, outcome = std::move(outcome), blob_claim, &options](Tx& tx) -> base::Result<ReportResult> {
        blob_claim->begin();
        return end_attempt(tx, options, lease, outcome, *blob_claim);
      },
      with_claim_commit<ReportResult>(blob_claim, std::move(done)),
      [job = lease.job.uuid](Db& db) {
        prefetch_job(db, job);
        prefetch_reservation(db, job);
        prefetch_webhooks(db);
      });
}

std::string retry_data(const JobRow& row, const RetryPlan& plan, base::WallTime run_at) {
  std::string data = error_data(plan.error);
  data.pop_back();
  return data + ",\"attempt\":" + std::to_string(row.attempt) + ",\"run_at\":\"" + base::rfc3339(run_at) +
         "\"}";
}

// The error if the retry ends the job; absent: the job may be retried.
std::optional<schemas::JobError> last_error(const JobRow& row, const RetryPlan& plan) {
  if (plan.crash && row.crashes + 1 >= plan.crashes_max) {
    return schemas::JobError{base::Code::kPoisonJob, "the job crashed its own process " +
                                                         std::to_string(row.crashes + 1) +
                                                         " times: " + plan.error.message};
  }
  const int losses = row.losses + (plan.loss ? 1 : 0);
  if (row.rerun == schemas::Rerun::kAtMostOnce || (plan.loss && losses >= plan.losses_max))
    return worker_lost();
  const int used = row.attempt - losses - row.free_attempts;
  if (plan.attempts_max > 0 && used >= plan.attempts_max) return plan.error;
  return std::nullopt;
}

ReportResult retry_in(Tx& tx, const Store::Options& options, const Lease& lease, const RetryPlan& plan) {
  auto lease_check = check_lease(tx.db, lease, JobStatus::kFailed);
  if (!lease_check.row) return lease_check.refusal;
  JobTransitions transitions(tx, options);
  JobRow& row = *lease_check.row;
  if (row.cancel_requested) {
    transitions.end(row, {.status = JobStatus::kCancelled, .by_owner = true, .used = plan.used});
    return ReportResult::kCancelled;
  }
  if (auto error = last_error(row, plan)) {
    row.crashes += plan.crash ? 1 : 0;
    row.losses += plan.loss ? 1 : 0;
    JobTransitionEnd end{
        .status = JobStatus::kFailed, .error = std::move(error), .by_owner = true, .used = plan.used};
    if (!plan.result.empty()) {
      end.result = insert_result(tx.db, plan.result, std::nullopt);
      end.result_bytes = static_cast<std::int64_t>(plan.result.size());
    }
    transitions.end(row, end);
    return ReportResult::kApplied;
  }
  const base::WallTime run_at = tx.now + plan.delay;
  const std::string data = retry_data(row, plan, run_at);
  const bool is_free = plan.attempts_max == 0 && !plan.crash && !plan.loss;
  transitions.requeue(row, {.delay = plan.delay,
                            .free_attempts = is_free ? 1 : 0,
                            .crashes = plan.crash ? 1 : 0,
                            .losses = plan.loss ? 1 : 0,
                            .event = "retry",
                            .event_data = data,
                            .used = plan.used});
  return ReportResult::kApplied;
}

ReportResult return_to_queue_in(Tx& tx, const Store::Options& options, const Lease& lease,
                                const JobOutcomes::Used& used) {
  auto lease_check = check_lease(tx.db, lease, JobStatus::kFailed);
  if (!lease_check.row) return lease_check.refusal;
  JobTransitions transitions(tx, options);
  JobRow& row = *lease_check.row;
  if (row.cancel_requested) {
    transitions.end(row, {.status = JobStatus::kCancelled, .by_owner = true, .used = used});
    return ReportResult::kCancelled;
  }
  if (row.rerun == schemas::Rerun::kAtMostOnce) {
    transitions.end(row,
                    {.status = JobStatus::kFailed, .error = worker_lost(), .by_owner = true, .used = used});
  } else {
    transitions.requeue(row, {.free_attempts = 1, .event_data = R"({"reason":"drain"})", .used = used});
  }
  return ReportResult::kApplied;
}

}  // namespace

void JobOutcomes::finish(Lease lease, Payload result, Callback<ReportResult> done, Used used) {
  submit_attempt_end(store_, lease, {JobStatus::kSucceeded, std::nullopt, std::move(result), used},
                     std::move(done));
}

void JobOutcomes::fail(Lease lease, schemas::JobError error, Payload result, Callback<ReportResult> done,
                       Used used) {
  submit_attempt_end(store_, lease, {JobStatus::kFailed, std::move(error), std::move(result), used},
                     std::move(done));
}

void JobOutcomes::cancelled(Lease lease, Payload result, Callback<ReportResult> done, Used used) {
  submit_attempt_end(store_, lease, {JobStatus::kCancelled, std::nullopt, std::move(result), used},
                     std::move(done));
}

void JobOutcomes::expired(Lease lease, schemas::JobError error, Payload result, Callback<ReportResult> done,
                          Used used) {
  submit_attempt_end(store_, lease, {JobStatus::kExpired, std::move(error), std::move(result), used},
                     std::move(done));
}

void JobOutcomes::retry(Lease lease, RetryPlan plan, Callback<ReportResult> done) {
  const Store::Options& options = store_.options();
  const std::size_t bytes = kOutcomeRowBytes + plan.result.size();
  submit_write<ReportResult>(
      store_.writer(), Writer::Priority::kUrgent, bytes,
      [lease, plan = std::move(plan), &options](Tx& tx) -> base::Result<ReportResult> {
        return retry_in(tx, options, lease, plan);
      },
      std::move(done));
}

void JobOutcomes::return_to_queue(Lease lease, Callback<ReportResult> done, Used used) {
  const Store::Options& options = store_.options();
  submit_write<ReportResult>(
      store_.writer(), Writer::Priority::kUrgent, kOutcomeRowBytes,
      [lease, used, &options](Tx& tx) -> base::Result<ReportResult> {
        return return_to_queue_in(tx, options, lease, used);
      },
      std::move(done));
}

namespace {

using schemas::JobStatus;

constexpr std::size_t kChildBytes = 512;

void wait_for_children(Tx& tx, JobRow& row, int children, int progress_total) {
  auto s = tx.db.prepare(R"(
      UPDATE jobs SET status = {waiting}, children = ?4, children_left = ?4, progress_total = ?5,
          spared = spared + 1, token = NULL, worker = NULL, lease_boot = 0, lease_until = 0,
          version = version + 1
      WHERE id = ?1 AND status = {running} AND attempt = ?2 AND token = ?3 AND cancel_requested = 0
          AND children = 0)"_sql);
  s.bind(row.id, row.attempt, row.token, children, progress_total).run();
  expect_one_change(s, "split");
  row.status = JobStatus::kWaiting;
  record_event(tx, row, "waiting", "{\"children\":" + std::to_string(children) + "}");
}

JobRow child_of(const Tx& tx, const JobRow& parent, const ChildSpec& spec, int index) {
  JobRow child;
  child.id = spec.id.uuid;
  child.kind = spec.id.kind;
  child.tenant = parent.tenant;
  child.priority = parent.priority;
  child.rerun = parent.rerun;
  child.created_at = base::millis(tx.now);
  child.deadline = parent.deadline + tx.jumped.count() - parent.jumped_ms;
  child.jumped_ms = tx.jumped.count();
  child.model = parent.model;
  child.lane_key = parent.lane_key;
  child.parent = parent.id;
  child.child_index = index;
  return child;
}

base::Result<ReportResult> split_in(Tx& tx, const Store::Options& options, const Lease& lease,
                                    const std::vector<ChildSpec>& children, int progress_total) {
  auto lease_check = check_lease(tx.db, lease);
  if (!lease_check.row) return lease_check.refusal;
  JobRow& row = *lease_check.row;
  JobTransitions transitions(tx, options);
  if (row.cancel_requested) {
    transitions.end(row, {.status = JobStatus::kCancelled, .by_owner = true});
    return ReportResult::kCancelled;
  }
  if (row.parent || row.children > 0 || row.rerun == schemas::Rerun::kAtMostOnce) {
    return base::error(base::Code::kInvalidState,
                       "children, jobs that were split and at-most-once jobs do not split");
  }
  if (!count_pages(transitions, row, progress_total)) return ReportResult::kLeaseLost;
  wait_for_children(tx, row, static_cast<int>(children.size()), progress_total);
  const std::string traceparent = traceparent_of(tx.db, row.spec);
  int index = 0;
  for (const ChildSpec& spec : children) {
    JobRow child = child_of(tx, row, spec, index++);
    child.spec = insert_job_spec(tx.db, {spec.spec, std::nullopt, traceparent});
    transitions.enqueue(std::move(child), traceparent);
  }
  tx.db.write_pending();  // now, while `traceparent` is still alive
  return ReportResult::kApplied;
}

}  // namespace

void JobOutcomes::split(Lease lease, std::vector<ChildSpec> children, int progress_total,
                        Callback<ReportResult> done) {
  const bool too_large = std::any_of(children.begin(), children.end(),
                                     [](const ChildSpec& c) { return c.spec.size() > kInlineMax; });
  if (children.empty() || too_large) {
    return done(
        base::error(base::Code::kInternal, "a split needs children, each with a spec of at most 32 KiB"));
  }
  std::size_t bytes = 0;
  for (const ChildSpec& child : children) bytes += child.spec.size() + kChildBytes;
  const Store::Options& options = store_.options();
  submit_write<ReportResult>(
      store_.writer(), Writer::Priority::kUrgent, bytes,
      [lease, children = std::move(children), progress_total, &options](Tx& tx) {
        return split_in(tx, options, lease, children, progress_total);
      },
      std::move(done));
}

}  // namespace millrace::storage
