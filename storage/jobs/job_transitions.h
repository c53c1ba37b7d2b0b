#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/jobs/job_outcomes.h"
#include "storage/jobs/job_rows.h"
#include "storage/store.h"
#include "storage/tenants/quota_ledger.h"
#include "storage/writer/writer.h"

// Inside storage: the history of root jobs, and what the commit reports about them.
namespace millrace::storage {

// Appends the event of a transition and adds the change to the commit. Call it after the transition's UPDATE,
// which has incremented the version in the database (`version = version + (parent_id IS NULL)`). `row` has
// all other new values already; this function increments `row.version` and stores the event with it.
// Children have no history: nothing happens for them.
void record_event(Tx& tx, JobRow& row, std::string_view type, std::string_view data = "{}");
// Only adds the change to the commit (for a new job, whose first event is the row itself).
void publish_change(Tx& tx, const JobRow& row);

// Stores the first event of a new job that waits for its machine or its run_at. No other version 1 is stored.
void record_waiting_event(Tx& tx, const JobRow& row);

// The error as JSON for `data`.
std::string error_data(const schemas::JobError& error);

// Inside storage: what jobs count for the quotas of their owners (quota_ledger.h).

// Adds to what the owners of a root job have stored. Machine operations do not count.
void add_usage(Tx& tx, const JobRow& row, const QuotaLedger::Delta& delta);
// The root job stores `delta` bytes more: adds them to the row and its owners.
void count_bytes(Tx& tx, const JobRow& row, std::int64_t delta);

// Inside storage: which worker may write to a job (docs/design/delivery.md §2, rule 6).

// The row, if the lease belongs to the running attempt; otherwise the reason why not.
struct LeaseCheck {
  std::optional<JobRow> row;
  ReportResult refusal = ReportResult::kLeaseLost;
};

// `target_status` is the terminal status that the caller is about to write. If the same lease has already
// ended the job, the result is kRepeated, or kCancelled if a cancel request won. Absent: only the running
// attempt is accepted.
LeaseCheck check_lease(Db& db, const Lease& lease,
                       std::optional<schemas::JobStatus> target_status = std::nullopt);

// The row that holds the parts and the progress of a leased job: the job's own row or its parent's. Absent:
// the parent has ended.
std::optional<JobRow> find_open_root(Db& db, const JobRow& leased);

// Inside storage: when a ready job is published to the workers (docs/design/delivery.md §2, rule 10).

// How many more tokens of the kind may be published (kWindowMin, kWindowPerFreeSlot). Computed from the
// store: queued jobs that are published.
std::int64_t free_window_slots(const Tx& tx, schemas::Kind kind);

// The window slots (glossary: window) that one operation takes. Without an outbox, the commit lists every
// ready job. With an outbox, it lists only the jobs that get a slot; the other jobs stay queued with
// published_at = 0.
class WindowSlots {
 public:
  WindowSlots(Tx& tx, const Store::Options& options) : tx_(tx), options_(options) {}

  // Call for each job that becomes ready. Takes a window slot for `row`. Returns the published_at to store
  // with it; 0: no slot is free. The first job of a lane is always published, up to kLaneTokensMax, because
  // jobs of full lanes can fill the window for a long time.
  std::int64_t take(const JobRow& row);
  // Call after the row was written as ready with that published_at.
  void publish(const JobRow& row, std::string traceparent);
  // Call when the job has left the queue: deletes its outbox row.
  void unpublish(const JobRow& row);

 private:
  Tx& tx_;
  const Store::Options& options_;
  std::map<schemas::Kind, std::int64_t> free_slots_;
};

// Marks a queued job as published with `epoch` and publishes it. False: the job was no longer queued and
// ready.
bool publish_now(Tx& tx, JobRow& row, std::int64_t epoch, std::vector<ReadyJob>& out);

// Inside storage: transitions that several roles need. Each repeats its guard in WHERE. `row` is what the
// same transaction has just read, and is updated to the new state.

// How a job ends.
struct JobTransitionEnd {
  schemas::JobStatus status = schemas::JobStatus::kFailed;
  std::optional<schemas::JobError> error{};
  std::optional<std::int64_t> result{};  // job_results.id
  std::int64_t result_bytes = 0;
  bool by_owner =
      false;  // the lease's owner reports it; the token is kept, so that the report can be repeated
  // What the attempt used. Absent: unknown, so everything that it sent is charged (reservations.h).
  std::optional<schemas::Charge> used{};
};

// Why a running job returns to the queue, and which counters it increments.
struct Requeue {
  std::chrono::milliseconds delay{0};              // before the next attempt
  int free_attempts = 0, crashes = 0, losses = 0;  // added to the row's counters
  std::string_view event = "queued";
  std::string_view event_data = "{}";
  std::optional<schemas::Charge> used{};  // as in JobTransitionEnd
};

class JobTransitions {
 public:
  JobTransitions(Tx& tx, const Store::Options& options)
      : tx_(tx), options_(options), window_slots_(tx, options) {}

  // Open → terminal. Deletes the job's secret. The end of a child decrements its parent's children_left (rule
  // 5). The end of a machine operation updates its machine and the jobs that wait for it.
  void end(JobRow& row, const JobTransitionEnd& end);
  // Running: requests the cancellation. The worker gets it from the commit and in its next heartbeat reply.
  void request_cancel(const JobRow& row);
  // Running → queued, never for at-most-once (rule 3) nor after a cancel request (rule 4). → failed with
  // kBudgetExceeded if the owners' budget does not allow another attempt.
  void requeue(JobRow& row, const Requeue& requeue);
  // Handles a job whose worker is gone: → queued, failed or cancelled.
  void handle_lost_worker(JobRow& row, int losses_max);
  // Delayed → ready, or waiting for its machine if it was scheduled and the machine is asleep.
  void release(JobRow& row);
  // Waiting for its machine → ready, with an event.
  void release_from_machine(JobRow& row);
  // Inserts a new queued row and publishes it, unless it waits for its machine or its run_at. The caller has
  // set everything except published_at.
  void enqueue(JobRow row, std::string_view traceparent);

  WindowSlots& window_slots() { return window_slots_; }
  Tx& tx() { return tx_; }

 private:
  void on_child_ended(const base::Uuid& parent);
  void release_scheduled(JobRow& row);
  void publish(const JobRow& row);

  Tx& tx_;
  const Store::Options& options_;
  WindowSlots window_slots_;
};

// The number of a root job's pages has become known: counts them for its owners. If a quota does not allow
// them, the job fails with quota_exceeded. False: it has ended. Other kinds count nothing.
bool count_pages(JobTransitions& transitions, JobRow& root, int pages);

schemas::JobError job_error(const base::Error& error);
// The error of a job whose worker is gone; the job may have run in part (rule 2).
schemas::JobError worker_lost();

// Inside storage: deletion of a job's rows, by retention or on request of its owner.

// Deletes a terminal root job without open children and all rows that belong to it, at most `budget` rows:
// first the children, then events that carry output, and the job itself last. Returns the number of rows
// deleted. Its Idempotency-Key may be kept longer.
int erase_job(Tx& tx, const JobRow& row, int budget);

}  // namespace millrace::storage
