#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "storage/job_rows.h"
#include "storage/outbox_rows.h"
#include "storage/store.h"

// Inside storage: transitions that several roles need. Each repeats its guard in WHERE. `row` is what the
// same transaction has just read, and is updated to the new state.
namespace millrace::storage {

// How a job ends.
struct End {
  schemas::JobStatus status = schemas::JobStatus::kFailed;
  std::optional<schemas::JobError> error{};
  std::optional<std::int64_t> result{};  // job_results.id
  bool by_owner =
      false;  // the lease's owner reports it; the token is kept, so that the report can be repeated
};

// Why a running job returns to the queue, and which counters it increments.
struct Requeue {
  base::WallTime run_at{};                  // zero: at once
  int spared = 0, crashes = 0, losses = 0;  // added to the row's counters
  std::string_view event = "queued";
  std::string_view event_data = "{}";
};

class JobMoves {
 public:
  JobMoves(Tx& tx, const Store::Options& options) : tx_(tx), options_(options), publisher_(tx, options) {}

  // Open → terminal. Deletes the job's secret. The end of a child decrements its parent's children_left (rule
  // 5). The end of a machine operation updates its machine and the jobs that wait for it.
  void end(JobRow& row, const End& end);
  // Running: requests the cancellation. The worker gets it from the commit and in its next heartbeat reply.
  void ask_to_stop(const JobRow& row);
  // Running → queued, never for at-most-once (rule 3) nor after a cancel request (rule 4).
  void requeue(JobRow& row, const Requeue& requeue);
  // Handles a job whose worker is gone: → queued, failed or cancelled.
  void lose(JobRow& row, int losses_max);
  // Delayed → ready.
  void release(JobRow& row);
  // Waiting for its machine → ready, with an event.
  void awaken(JobRow& row);
  // Inserts a new queued row and publishes it, unless it waits for its machine. The caller has set everything
  // except published_at.
  void enqueue(JobRow row, std::string_view traceparent);

  Publisher& publisher() { return publisher_; }
  Tx& tx() { return tx_; }

 private:
  void child_ended(const base::Uuid& parent);
  void announce(const JobRow& row);

  Tx& tx_;
  const Store::Options& options_;
  Publisher publisher_;
};

// The error of a job whose worker is gone; the job may have run in part (rule 2).
schemas::JobError worker_lost();

}  // namespace millrace::storage
