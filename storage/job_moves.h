#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "storage/job_rows.h"
#include "storage/outbox_rows.h"
#include "storage/store.h"

// Inside storage: the moves that several roles make, once. Each repeats its guard in WHERE; `row` is what the
// same transaction has just read, and afterwards what the row has become.
namespace millrace::storage {

// How an attempt, or a whole job, ends.
struct End {
  schemas::JobStatus status = schemas::JobStatus::kFailed;
  std::optional<schemas::JobError> error{};
  std::optional<std::int64_t> result{};  // job_results.id
  bool by_owner = false;  // the lease's owner says so: its token stays, so that it may say it again
};

// Why a running job goes back to the queue, and what it costs.
struct Requeue {
  base::WallTime run_at{};                  // the epoch: at once
  int spared = 0, crashes = 0, losses = 0;  // added to the row's
  std::string_view event = "queued";
  std::string_view event_data = "{}";
};

class JobMoves {
 public:
  JobMoves(Tx& tx, const Store::Options& options) : tx_(tx), options_(options), publisher_(tx, options) {}

  // Open → terminal; a secret that the job had is wiped. A child's lowers its parent's children_left (rule
  // 5). An act's moves its machine, and what waits for it.
  void end(JobRow& row, const End& end);
  // Running: its worker is to stop it. The commit tells of it, and the worker's next heartbeat.
  void ask_to_stop(const JobRow& row);
  // Running → queued, never for at-most-once (rule 3) nor after a cancel request (rule 4).
  void requeue(JobRow& row, const Requeue& requeue);
  // What becomes of a job whose worker is gone: queued, or failed, or cancelled. `cost` is by whose fault.
  void lose(JobRow& row, int losses_max);
  // Delayed → ready.
  void release(JobRow& row);
  // Waiting for its machine → ready, with an event.
  void awaken(JobRow& row);
  // A new queued row, announced unless it waits for its machine. The caller has set everything but
  // published_at.
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

// The error of a job whose worker is gone: it may have run (rule 2).
schemas::JobError worker_lost();

}  // namespace millrace::storage
