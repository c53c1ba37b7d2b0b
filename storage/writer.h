#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platform/base/clock.h"
#include "platform/base/result.h"
#include "schemas/job.h"

namespace millrace::storage {

class Db;

// A job that changed in a group: what waiters and event streams want to hear.
struct Change {
  schemas::JobId job;
  std::string tenant;
  std::int64_t version = 0;
  schemas::JobStatus status = schemas::JobStatus::kQueued;
  bool waking = false;  // queued, and its machine is not awake
};

// A job that became ready to run in a group: what Dispatch is to be told. With an outbox it is in here only
// if the window was open and the row is marked as published; the rest waits for
// JobUpkeep::take_for_publication.
struct Ready {
  schemas::JobId job;
  std::int64_t epoch = 0;
  std::string tenant;
  std::string traceparent;
};

// All that a committed group did, in its order.
struct Commit {
  std::vector<Change> changes;
  std::vector<Ready> ready;
  std::vector<schemas::JobId> asked_to_stop;  // running jobs; their workers hear it by heartbeat, too
  bool empty() const { return changes.empty() && ready.empty() && asked_to_stop.empty(); }
};

// How far the clocks of this process may be trusted (delivery.md, Clocks), as of the group's start. All times
// are of the boot clock. Upkeep expires leases only when both times lie a lease back. What is done by wall
// time waits for `agreed_since`: a job ends by its deadline only when it lies a minute back, retention takes
// rows only when it lies an hour back (upkeep_steps.h).
struct ClockTrust {
  // This writer's last commit before this group; absent: none since the store was opened.
  std::optional<base::BootTime> last_commit;
  // Since when no two of its commits (or the opening and the first) lay more than 10 s apart.
  base::BootTime regular_since{};
  // Since when wall and boot clock have moved together (at most 5 s apart from group to group).
  base::BootTime agreed_since{};
};

// What an operation sees while it runs inside the group's transaction. The time was read once, after the lock
// was taken (delivery.md, Clocks).
struct Tx {
  Db& db;
  base::WallTime now;
  base::BootTime boot;
  std::string_view boot_id;
  Commit& commit;
  const ClockTrust& clocks;
  // Set by an operation that found nothing to do and waits for jobs of this kind: it is not answered but
  // asked again at the end of each group that makes one ready, in that same transaction.
  std::optional<schemas::Kind> stands_for{};
  // Set by an operation that wants all that stand asked again at the end of this group.
  bool ask_standing = false;
};

// The one writer of this process: a bounded queue, a commit thread, an announce thread (architecture.md §6).
// Group commit: drains the queue until it is empty, or 256 operations, 1 MB of payload or 2 ms; urgent
// operations first; one BEGIN IMMEDIATE … COMMIT at synchronous=FULL under the turnstile of DATA/locks
// (delivery.md). Operations of a group that failed are retried one by one. Completions run on the announce
// thread after COMMIT returned, in order, then the commit hook. An I/O error from COMMIT ends the process
// (exit 1, after one log line); a failed sync ends every process of the store (failure_flag.h).
class Writer {
 public:
  // kUrgent: finishes, heartbeats, claims, and what frees space. They go first, and on to the end when the
  // disk is nearly full or the store degraded; kNormal is refused then. kAsked: cancels, revocations and what
  // a start writes, for which somebody waits. They go with the urgent ones, and on a disk that is nearly full
  // too, but are refused while the store is degraded: at the latest Store::Options::stuck_lock_after and a
  // quarter of it after the lock was asked for.
  enum class Priority { kUrgent, kAsked, kNormal };
  // Runs on the commit thread inside a savepoint-free group: it must change nothing when it returns an error
  // (check first, then write). An error reaches `done`; the group goes on. It may run again: a group that
  // failed is rolled back and each of its operations tried alone, so nothing is kept from the first time.
  using Operation = std::function<base::Status(Tx&)>;
  using Completion = std::function<void(base::Status)>;

  virtual ~Writer() = default;
  // Never blocks. kOverloaded with a retry_after through `done` (at once, on this thread) when the queue is
  // at its bound (an eighth above it for urgent ones; what is not announced yet counts), the writer is
  // closed, or the operation is not urgent and the store is degraded, or it is normal and the disk below its
  // minimum. One that is not urgent and waits when the store becomes degraded is withdrawn: the same error,
  // on the announce thread.
  virtual void submit(Priority priority, std::size_t payload_bytes, Operation operation, Completion done) = 0;
};

// A move with a value: `operation` fills it, `done` gets it after the commit.
template <class T>
using Done = std::function<void(base::Result<T>)>;

template <class T, class Op>
void submit_move(Writer& writer, Writer::Priority priority, std::size_t payload_bytes, Op operation,
                 Done<T> done) {
  auto value = std::make_shared<base::Result<T>>(base::error(base::Code::kInternal, "move did not run"));
  writer.submit(
      priority, payload_bytes,
      [value, operation = std::move(operation)](Tx& tx) -> base::Status {
        *value = operation(tx);
        if (!*value) return value->error();
        return {};
      },
      [value, done = std::move(done)](base::Status status) {
        if (!status) return done(status.error());
        done(std::move(*value));
      });
}

}  // namespace millrace::storage
