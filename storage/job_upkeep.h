#pragma once
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schemas/job.h"
#include "storage/fresh_deadlines.h"
#include "storage/store.h"

namespace millrace::storage {

// The window of a kind: how many tokens may be out, that is published and not claimed. A slot that becomes
// free finds one waiting, and while none is free a few tokens are there for the first that will be. What lies
// outside waits in the store, where priority, fairness and cancel still reach it: more would only lengthen
// the part that they do not reach.
inline constexpr std::int64_t kWindowPerFreeSlot = 2;
inline constexpr std::int64_t kWindowMin = 8;
// Of kinds with lanes (KindRules): tokens of lanes that have none out go beside the window, so many at most.
// A job of an idle lane is heard of, whatever the jobs of full lanes have filled.
inline constexpr std::int64_t kLaneTokensMax = 256;

// The store's own housekeeping: each move is one bounded step that repeats its whole condition in WHERE, so
// that any process may run it at any time. `done` gets how many rows changed (at the limit: call again).
// Never blocks.
class JobUpkeep {
 public:
  explicit JobUpkeep(Store& store) : store_(store) {}

  // queued with run_at ≤ now → ready to claim.
  void release_due(int limit, Done<int> done);
  // running with lease_until < boot (or another boot id) → queued (losses + 1), failed `worker_lost` for
  // at-most-once or at losses_max, cancelled if requested. If this Store's own last commit lies more than 10
  // s back, or wall and boot clock disagree by more than 5 s since, it waits one full lease first
  // (delivery.md, Clocks).
  void expire_leases(std::chrono::milliseconds lease, int losses_max, int limit, Done<int> done);
  // The same at once for every lease of a worker whose process is known to be dead (its lock was taken).
  void release_worker(std::string worker, int losses_max, Done<int> done);
  // queued or waiting past the deadline → expired. Fresh jobs are found queue by queue (fresh_deadlines.h).
  // Waits a minute after a clock jump or a start.
  void expire_deadlines(int limit, Done<int> done);
  // Children of terminal parents that are not terminal → cancelled, or cancel_requested while they run.
  void cancel_orphans(int limit, Done<int> done);

  // Outbox only. Marks up to (window − queued with published_at) more jobs of the kind as published, in claim
  // order; they come back and in Commit::ready.
  void take_for_publication(schemas::Kind kind, Done<std::vector<Ready>> done);
  // Delivery report: the outbox row of (job, epoch) goes; failed: it may be published again.
  void publication_done(schemas::JobId job, std::int64_t epoch, bool delivered, Done<bool> done);
  // Published longer than `age` ago, still queued, and the kind has had a free slot for 5 s: epoch + 1,
  // publish again.
  void republish_lost(schemas::Kind kind, std::chrono::milliseconds age, int limit,
                      Done<std::vector<Ready>> done);
  // At start: everything in the outbox that an earlier process left marked.
  void republish_outbox(int limit, Done<std::vector<Ready>> done);

  // Retention in two steps (delivery.md): results (and inputs of succeeded jobs), then whole job rows with
  // events, spec, parts and references, children first, never under a parent that is not terminal. Results of
  // executions stay until the second step, which counts the events that carry their output as rows. Waits an
  // hour after a clock jump.
  void drop_results(std::chrono::milliseconds age, int limit, Done<int> done);
  void drop_jobs(std::chrono::milliseconds age, int limit, Done<int> done);
  // Idempotency rows 24 h after the end of their job, or with the job row, whichever is later.
  void drop_idempotency(int limit, Done<int> done);
  // Rows of blobs without references go; the paths come back for unlinking after the commit.
  void drop_blobs(int limit, Done<std::vector<std::string>> done);
  // True if a row names the file.
  bool blob_is_named(const std::string& path);

  // When something of the above is next due by the clock (retry, deadline, lease), for a timer without
  // polling; of fresh jobs the earliest that it can be. The past: now. Reads.
  base::Result<std::optional<base::WallTime>> next_due(std::chrono::milliseconds lease);

 private:
  Store& store_;
  std::shared_ptr<FreshDeadlines> fresh_ = std::make_shared<FreshDeadlines>();
};

}  // namespace millrace::storage
