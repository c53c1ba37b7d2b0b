#include <limits>
#include <utility>

#include "storage/audit_rows.h"
#include "storage/call_replies.h"
#include "storage/failures.h"
#include "storage/job_intake.h"
#include "storage/job_moves.h"
#include "storage/job_records.h"
#include "storage/job_removal.h"
#include "storage/job_views.h"

// Cancelling and deleting jobs.
namespace millrace::storage {
namespace {

using schemas::JobStatus;

constexpr std::size_t kEndRowBytes = 512;

base::Error parts_run() {
  return base::error(base::Code::kInvalidState, "parts of the job still run; ask again when they have ended");
}

// REQUIRES: the job is open.
void stop(Tx& tx, const Store::Options& options, const Caller& by, JobRow& row) {
  audit_execution(tx, by, "cancel", {row.kind, row.id});
  JobMoves moves(tx, options);
  if (row.status != JobStatus::kRunning) return moves.end(row, {.status = JobStatus::kCancelled});
  moves.ask_to_stop(row);
}

base::Result<schemas::JobView> cancel_in(Tx& tx, const Store::Options& options, const Caller& by,
                                         const schemas::JobId& job) {
  auto row = find_root(tx.db, by.tenant, job);
  if (!row) return no_such_job();
  if (!schemas::is_terminal(row->status)) stop(tx, options, by, *row);
  return *find_view(tx.db, row->id, options);
}

// REQUIRES: the job is terminal.
void erase(Tx& tx, const Caller& by, const JobRow& row) {
  audit_execution(tx, by, "delete", {row.kind, row.id});
  erase_job(tx, row, std::numeric_limits<int>::max());
}

base::Result<bool> forget_in(Tx& tx, const Caller& by, const schemas::JobId& job) {
  const auto row = find_root(tx.db, by.tenant, job);
  if (!row) return no_such_job();
  if (!schemas::is_terminal(row->status)) {
    return base::error(base::Code::kInvalidState,
                       "only a job that has ended can be forgotten; cancel it first");
  }
  if (row->children_left > 0) return parts_run();
  erase(tx, by, *row);
  return true;
}

struct Removal {
  schemas::JobId job;
  MachineCall call;
  Compose<JobRecord> reply;
};

base::Result<Answer> remove_in(Tx& tx, const Store::Options& options, const Removal& removal) {
  if (const auto before = reply_before(tx, removal.call)) {
    return *before;
  }
  const Caller by{removal.call.tenant, removal.call.actor};
  auto row = find_root(tx.db, by.tenant, removal.job);
  if (!row) return no_such_job();
  const bool ended = schemas::is_terminal(row->status);
  if (ended && row->children_left > 0) return parts_run();
  if (!ended) stop(tx, options, by, *row);
  std::string body = removal.reply(record_of(tx.db, options, *row));
  if (ended) erase(tx, by, *row);
  return keep_reply(tx, removal.call, std::move(body));
}

}  // namespace

void JobIntake::cancel(Caller by, schemas::JobId job, Done<schemas::JobView> done) {
  const Store::Options& options = store_.options();
  submit_move<schemas::JobView>(
      store_.writer(), Writer::Priority::kAsked, kEndRowBytes,
      [by = std::move(by), job, &options](Tx& tx) { return cancel_in(tx, options, by, job); },
      std::move(done));
}

void JobIntake::forget(Caller by, schemas::JobId job, Done<bool> done) {
  submit_move<bool>(
      store_.writer(), Writer::Priority::kAsked, kEndRowBytes,
      [by = std::move(by), job](Tx& tx) { return forget_in(tx, by, job); }, std::move(done));
}

void JobIntake::remove(schemas::JobId job, MachineCall call, Compose<JobRecord> reply, Done<Answer> done) {
  const Store::Options& options = store_.options();
  submit_move<Answer>(
      store_.writer(), Writer::Priority::kAsked, kEndRowBytes,
      [removal = Removal{job, std::move(call), std::move(reply)}, &options](Tx& tx) {
        return remove_in(tx, options, removal);
      },
      std::move(done));
}

}  // namespace millrace::storage
