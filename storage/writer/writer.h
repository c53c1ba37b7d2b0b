#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "platform/base/clock.h"
#include "platform/base/result.h"
#include "schemas/jobs/job.h"

namespace millrace::storage {

class Db;
class QuotaLedger;
class WebhookOutbox;

// A job that became ready to run in a committed group; Dispatch publishes it. With an outbox, a job is listed
// here only if the window had a free slot and its row is marked as published. The other jobs wait for
// JobMaintenance::select_for_publication.
struct ReadyJob {
  schemas::JobId job;
  std::int64_t epoch = 0;
  std::string tenant;
  std::string traceparent;
};

// Everything that a committed group did, in commit order.
struct Commit {
  std::vector<schemas::JobChange> changes;
  std::vector<ReadyJob> ready;
  std::vector<schemas::JobId>
      cancel_requests;        // running jobs; their workers also see it in the next heartbeat reply
  bool has_webhooks = false;  // there are new deliveries
  bool empty() const { return changes.empty() && ready.empty() && cancel_requests.empty() && !has_webhooks; }
};

// How far the clocks of this process can be trusted at the start of a group (docs/design/delivery.md §5). All
// times are boot-clock times. Maintenance expires leases only when `regular_since` and `agreed_since` both
// lie at least one lease back. Actions that depend on wall time check `agreed_since`: jobs expire by their
// deadline only when it lies a minute back, and retention deletes rows only when it lies an hour back
// (maintenance_steps.h).
struct ClockTrust {
  // The last commit of this writer before this group. Absent: there was none since the store was opened.
  std::optional<base::BootTime> last_commit;
  // Since this time, no two commits (or the opening and the first commit) were more than 10 s apart.
  base::BootTime regular_since{};
  // Since this time, the wall clock and the boot clock have advanced together (at most 5 s apart from group
  // to group).
  base::BootTime agreed_since{};
};

// What an operation can use while it runs in the group's transaction. The clocks were read once, after the
// write lock was acquired (docs/design/delivery.md §5).
struct Tx {
  Db& db;
  base::WallTime now;
  base::BootTime boot;
  base::BootTime host_boot;          // the same moment by the boot clock of this host
  std::chrono::milliseconds jumped;  // the jumps of the wall clock so far (StoreClock)
  std::string_view boot_id;
  Commit& commit;
  const ClockTrust& clocks;
  QuotaLedger& quotas;      // what tenants and keys have stored; written with the group
  WebhookOutbox& webhooks;  // the endpoints of tenants, and what is sent to them; the same
  // An operation sets this when it found no work and waits for jobs of this kind. Its completion does not
  // run; the operation is parked. It runs again at the end of each group that makes a job of this kind ready,
  // in the same transaction; if `last` is set, after the other parked operations.
  struct Parking {
    schemas::Kind kind;
    bool last = false;
  };
  std::optional<Parking> parked_for{};
  // An operation sets this to run all parked operations again at the end of this group.
  bool retry_parked_claims = false;

  // `now` in steady time: for times that a duration makes and that are compared with it later.
  base::WallTime steady() const { return now - jumped; }
};

// The only writer of this process: a bounded queue, a commit thread and a completion thread
// (docs/design/architecture.md §6). Group commit: the commit thread takes operations until the queue is
// empty, or up to 256 operations, 1 MB of payload or 2 ms, urgent ones first. It runs them in one BEGIN
// IMMEDIATE … COMMIT at synchronous=FULL, under the fair write lock of DATA/locks (docs/design/delivery.md
// §4). If a group fails, its operations are retried one by one. Completions run in order on the completion
// thread after COMMIT has returned, followed by the commit hook. An I/O error from COMMIT ends the process
// (exit code 1, after one log line). A failed sync ends every process of the store (FailureFlag).
class Writer {
 public:
  // kUrgent: finishes, heartbeats, claims, and operations that free space. kInteractive: cancels, revocations
  // and writes made at start-up; a caller is blocked on them. kNormal: everything else. Urgent and
  // interactive operations run first. While the store is degraded, kInteractive and kNormal are refused;
  // while the disk is nearly full, only kNormal. If the write lock cannot be acquired, the store becomes
  // degraded after at most 1.25 × Store::Options::stuck_lock_after.
  enum class Priority { kUrgent, kInteractive, kNormal };
  // Runs on the commit thread inside the group's transaction, which has no savepoints. If it returns an
  // error, it must not have changed anything: check first, then write. The error goes to its completion; the
  // group continues. An operation may run twice: if a group fails, it is rolled back and each operation is
  // retried alone, so nothing of the first run may be kept.
  class Operation {
   public:
    // Reads that the operation will probably do, for Db::prefetch. Called before the operations that run with
    // it.
    using Prefetch = std::function<void(Db&)>;
    template <class Run>
      requires std::is_invocable_r_v<base::Status, Run&, Tx&>
    Operation(Run run, Prefetch prefetch = {})  // NOLINT(google-explicit-constructor)
        : run_(std::move(run)), prefetch_(std::move(prefetch)) {}
    Operation() = default;
    Operation(std::nullptr_t) {}  // NOLINT(google-explicit-constructor): runs nothing
    base::Status operator()(Tx& tx) const { return run_(tx); }
    void prefetch(Db& db) const {
      if (prefetch_) prefetch_(db);
    }

   private:
    std::function<base::Status(Tx&)> run_;
    Prefetch prefetch_;
  };
  using Completion = std::function<void(base::Status)>;

  virtual ~Writer() = default;
  // Never blocks. A refused operation does not run: `done` gets kOverloaded with a retry_after at once, on
  // this thread. Reasons:
  // - The writer is closed, or its queue is full. Operations whose completion has not run yet count. Urgent
  //   operations have 12.5 % more space.
  // - The store is degraded, and the operation is not urgent.
  // - Free disk space is below the minimum, and the operation is kNormal.
  // If the store becomes degraded, queued operations that are not
  // urgent are withdrawn with the same error, on the completion thread.
  virtual void submit(Priority priority, std::size_t payload_bytes, Operation operation, Completion done) = 0;
};

// Submits an operation and blocks until its commit. Not on a thread that completes writes.
base::Status write_and_wait(Writer& writer, Writer::Operation operation);

// Submits an operation that returns a value; `done` gets the value after the commit.
template <class T>
using Callback = std::function<void(base::Result<T>)>;

template <class T, class Op>
void submit_write(Writer& writer, Writer::Priority priority, std::size_t payload_bytes, Op operation,
                  Callback<T> done, Writer::Operation::Prefetch prefetch = {}) {
  auto value = std::make_shared<base::Result<T>>(base::error(base::Code::kInternal, "the write did not run"));
  writer.submit(priority, payload_bytes,
                {[value, operation = std::move(operation)](Tx& tx) -> base::Status {
                   *value = operation(tx);
                   if (!*value) return value->error();
                   return {};
                 },
                 std::move(prefetch)},
                [value, done = std::move(done)](base::Status status) {
                  if (!status) return done(status.error());
                  done(std::move(*value));
                });
}

}  // namespace millrace::storage
