#pragma once
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schemas/jobs/job.h"
#include "storage/jobs/deadline_scanner.h"
#include "storage/store.h"

namespace millrace::storage {

// The window of a kind: how many tokens may be published but not claimed. A slot that becomes free finds a
// token at once; while no slot is free, a few tokens wait for the first one. All other jobs wait in the
// store, where priority, fairness and cancellation still apply. A larger window would only increase the
// number of jobs to which they no longer apply.
inline constexpr std::int64_t kWindowPerFreeSlot = 2;
inline constexpr std::int64_t kWindowMin = 8;
// For kinds with lanes (KindRules): the first token of a lane that has none published goes beside the window,
// up to this many. A job of an idle lane is published even if jobs of full lanes have filled the window.
inline constexpr std::int64_t kLaneTokensMax = 256;

// Maintenance of the store. Each write is one bounded step that repeats its whole condition in WHERE, so any
// process may run it at any time. `done` gets the number of changed rows; at the limit, call again. Never
// blocks.
class JobMaintenance {
 public:
  explicit JobMaintenance(Store& store) : store_(store) {}

  // Jobs that are queued with run_at ≤ now → ready to claim.
  void release_due(int limit, Callback<int> done);
  // Jobs that are running with lease_until < boot, or with another boot id → queued (losses + 1); → failed
  // with `worker_lost` for at-most-once jobs or at losses_max; → cancelled if requested. It first
  // waits for one full lease after the store was opened, after 10 s without a commit of this process, and
  // after a jump of the wall clock (docs/design/delivery.md §5).
  void expire_leases(std::chrono::milliseconds lease, int losses_max, int limit, Callback<int> done);
  // The same at once for every lease of a worker whose process is known to be dead (its lock could be
  // acquired).
  void release_worker(std::string worker, int losses_max, Callback<int> done);
  // Jobs that are queued or waiting past their deadline → expired. Jobs that were never touched are found
  // queue by queue (deadline_scanner.h). Waits for a minute after a clock jump or a start.
  void expire_deadlines(int limit, Callback<int> done);
  // Open children of terminal parents → cancelled, or cancel_requested while they run.
  void cancel_orphans(int limit, Callback<int> done);

  // Outbox only. Marks up to (window − published queued jobs) more jobs of the kind as published, in claim
  // order. They are returned and also listed in Commit::ready.
  void select_for_publication(schemas::Kind kind, Callback<std::vector<ReadyJob>> done);
  // Delivery report: deletes the outbox row of (job, epoch). If the delivery failed, the job may be published
  // again.
  void record_publication(schemas::JobId job, std::int64_t epoch, bool delivered, Callback<bool> done);
  // Jobs that were published longer than `age` ago and are still queued, while the kind has had a free slot
  // for 5 s: epoch + 1, publish again.
  void republish_lost(schemas::Kind kind, std::chrono::milliseconds age, int limit,
                      Callback<std::vector<ReadyJob>> done);
  // At start: publishes everything that an earlier process left in the outbox.
  void republish_outbox(int limit, Callback<std::vector<ReadyJob>> done);

  // Retention in two steps (docs/design/delivery.md §10): first results (and inputs of succeeded jobs), then
  // whole jobs with events, spec, parts and references, children first, and never children of an open parent.
  // Results of executions stay until the second step; there, events that carry output count as rows. Waits
  // for an hour after a clock jump.
  void drop_results(std::chrono::milliseconds age, int limit, Callback<int> done);
  void drop_jobs(std::chrono::milliseconds age, int limit, Callback<int> done);
  // Deletes the jobs that JobIntake::remove has marked and that have ended, with all their rows; and notes of
  // jobs that became ready (queue_positions.h).
  void drop_removed(int limit, Callback<int> done);
  // Deletes idempotency rows 24 h after the end of their job, or with the job row, whichever is later.
  void drop_idempotency(int limit, Callback<int> done);
  // Deletes rows of blobs without references. Returns their paths, to be unlinked after the commit.
  void drop_blobs(int limit, Callback<std::vector<std::string>> done);
  // True if drop_blobs would delete one. Reads.
  base::Result<bool> has_unreferenced_blobs();
  // True if a row references the file.
  bool is_blob_referenced(const std::string& path);

  // The time when one of these steps is next due (retry, deadline, lease), for a timer without polling. For
  // untouched jobs it is a lower bound. A time in the past means now. Reads.
  base::Result<std::optional<base::WallTime>> next_due(std::chrono::milliseconds lease);

 private:
  Store& store_;
  std::shared_ptr<DeadlineScanner> deadline_scanner_ = std::make_shared<DeadlineScanner>();
};

}  // namespace millrace::storage
