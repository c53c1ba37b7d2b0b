#include "storage/job_outcomes.h"

#include <memory>
#include <utility>

#include "storage/job_events.h"
#include "storage/job_moves.h"
#include "storage/kind_rules.h"
#include "storage/lease_guard.h"
#include "storage/payload_rows.h"

namespace millrace::storage {
namespace {

using schemas::JobStatus;

constexpr std::size_t kOutcomeRowBytes = 512;

// How the lease's owner ends its attempt. A cancel request overrides it.
struct Verdict {
  JobStatus status;
  std::optional<schemas::JobError> error;
  Payload result;
};

Applied conclude(Tx& tx, const Store::Options& options, const Lease& lease, const Verdict& verdict,
                 Adoption& adoption) {
  auto held = hold(tx.db, lease, verdict.status);
  if (!held.row) return held.refusal;
  End end{.status = verdict.status, .error = verdict.error, .by_owner = true};
  const bool overruled = held.row->cancel_requested && verdict.status != JobStatus::kCancelled;
  if (overruled) {
    end.status = JobStatus::kCancelled;
    end.error.reset();
  }
  const bool shown = !overruled || kind_rules(held.row->kind).result_stays;
  if (shown && (verdict.result.blob || !verdict.result.bytes.empty())) {
    std::optional<std::int64_t> blob;
    if (verdict.result.blob) blob = adoption.take(tx.db, held.row->tenant, verdict.result.blob);
    end.result = insert_result(tx.db, verdict.result.bytes, blob);
  }
  JobMoves(tx, options).end(*held.row, end);
  return overruled ? Applied::kCancelled : Applied::kYes;
}

void submit_verdict(Store& store, Lease lease, Verdict verdict, Done<Applied> done) {
  if (verdict.result.bytes.size() > kInlineMax) {
    return done(base::error(base::Code::kInternal, "a result above 32 KiB must travel as a blob"));
  }
  const std::size_t bytes = kOutcomeRowBytes + verdict.result.bytes.size();
  auto adoption = std::make_shared<Adoption>();
  const Store::Options& options = store.options();
  submit_move<Applied>(
      store.writer(), Writer::Priority::kUrgent, bytes,
      [lease, verdict = std::move(verdict), adoption, &options](Tx& tx) -> base::Result<Applied> {
        adoption->begin();
        return conclude(tx, options, lease, verdict, *adoption);
      },
      adopting<Applied>(adoption, std::move(done)));
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
    return schemas::JobError{
        base::Code::kPoisonJob,
        "the job ended its own process " + std::to_string(row.crashes + 1) + " times: " + plan.error.message};
  }
  const int losses = row.losses + (plan.loss ? 1 : 0);
  if (row.rerun == schemas::Rerun::kAtMostOnce || (plan.loss && losses >= plan.losses_max))
    return worker_lost();
  const int used = row.attempt - losses - row.spared;
  if (plan.attempts_max > 0 && used >= plan.attempts_max) return plan.error;
  return std::nullopt;
}

Applied retry_in(Tx& tx, const Store::Options& options, const Lease& lease, const RetryPlan& plan) {
  auto held = hold(tx.db, lease, JobStatus::kFailed);
  if (!held.row) return held.refusal;
  JobMoves moves(tx, options);
  JobRow& row = *held.row;
  if (row.cancel_requested) {
    moves.end(row, {.status = JobStatus::kCancelled, .by_owner = true});
    return Applied::kCancelled;
  }
  if (auto error = last_error(row, plan)) {
    row.crashes += plan.crash ? 1 : 0;
    row.losses += plan.loss ? 1 : 0;
    End end{.status = JobStatus::kFailed, .error = std::move(error), .by_owner = true};
    if (!plan.result.empty()) end.result = insert_result(tx.db, plan.result, std::nullopt);
    moves.end(row, end);
    return Applied::kYes;
  }
  const base::WallTime run_at = tx.now + plan.delay;
  const std::string data = retry_data(row, plan, run_at);
  const bool is_free = plan.attempts_max == 0 && !plan.crash && !plan.loss;
  moves.requeue(row, {.run_at = run_at,
                      .spared = is_free ? 1 : 0,
                      .crashes = plan.crash ? 1 : 0,
                      .losses = plan.loss ? 1 : 0,
                      .event = "retry",
                      .event_data = data});
  return Applied::kYes;
}

Applied give_back_in(Tx& tx, const Store::Options& options, const Lease& lease) {
  auto held = hold(tx.db, lease, JobStatus::kFailed);
  if (!held.row) return held.refusal;
  JobMoves moves(tx, options);
  JobRow& row = *held.row;
  if (row.cancel_requested) {
    moves.end(row, {.status = JobStatus::kCancelled, .by_owner = true});
    return Applied::kCancelled;
  }
  if (row.rerun == schemas::Rerun::kAtMostOnce) {
    moves.end(row, {.status = JobStatus::kFailed, .error = worker_lost(), .by_owner = true});
  } else {
    moves.requeue(row, {.spared = 1, .event_data = R"({"reason":"drain"})"});
  }
  return Applied::kYes;
}

}  // namespace

void JobOutcomes::finish(Lease lease, Payload result, Done<Applied> done) {
  submit_verdict(store_, lease, {JobStatus::kSucceeded, std::nullopt, std::move(result)}, std::move(done));
}

void JobOutcomes::fail(Lease lease, schemas::JobError error, Payload result, Done<Applied> done) {
  submit_verdict(store_, lease, {JobStatus::kFailed, std::move(error), std::move(result)}, std::move(done));
}

void JobOutcomes::cancelled(Lease lease, Payload result, Done<Applied> done) {
  submit_verdict(store_, lease, {JobStatus::kCancelled, std::nullopt, std::move(result)}, std::move(done));
}

void JobOutcomes::expired(Lease lease, schemas::JobError error, Payload result, Done<Applied> done) {
  submit_verdict(store_, lease, {JobStatus::kExpired, std::move(error), std::move(result)}, std::move(done));
}

void JobOutcomes::retry(Lease lease, RetryPlan plan, Done<Applied> done) {
  const Store::Options& options = store_.options();
  const std::size_t bytes = kOutcomeRowBytes + plan.result.size();
  submit_move<Applied>(
      store_.writer(), Writer::Priority::kUrgent, bytes,
      [lease, plan = std::move(plan), &options](Tx& tx) -> base::Result<Applied> {
        return retry_in(tx, options, lease, plan);
      },
      std::move(done));
}

void JobOutcomes::give_back(Lease lease, Done<Applied> done) {
  const Store::Options& options = store_.options();
  submit_move<Applied>(
      store_.writer(), Writer::Priority::kUrgent, kOutcomeRowBytes,
      [lease, &options](Tx& tx) -> base::Result<Applied> { return give_back_in(tx, options, lease); },
      std::move(done));
}

}  // namespace millrace::storage
