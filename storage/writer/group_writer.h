#pragma once
#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "storage/db/db.h"
#include "storage/tenants/quota_ledger.h"
#include "storage/writer/completion_dispatcher.h"
#include "storage/writer/health.h"
#include "storage/writer/operation_queue.h"
#include "storage/writer/store_clock.h"
#include "storage/writer/write_gate.h"
#include "storage/writer/writer.h"

namespace millrace::storage {

// Maintains the writer's ClockTrust. It is called with the clocks of each group when the group starts and
// when it has committed. It logs jumps of the wall clock. Commit thread only.
class ClockMonitor {
 public:
  static constexpr std::chrono::milliseconds kCommitGapMax{10'000};
  static constexpr std::chrono::milliseconds kClockJumpMax = StoreClock::kJumpMin;

  ClockMonitor(base::WallTime now, base::BootTime boot);
  void on_group_begin(base::WallTime now, base::BootTime boot);
  void on_group_committed(base::BootTime boot) { trust_.last_commit = boot; }
  const ClockTrust& trust() const { return trust_; }

 private:
  ClockTrust trust_;
  base::BootTime opened_;
  std::chrono::milliseconds offset_;  // wall time minus boot time at the last group
};

// A parked operation: it found no work and waits for ready jobs of its kind (Tx::parked_for).
struct ParkedClaim {
  QueuedOperation operation;
  Tx::Parking parking;
};

// One transaction over the operations that arrive while it runs. Commit thread only, in this process's turn
// at the gate.
class CommitGroup {
 public:
  struct Limits {
    OperationQueue::Bounds bounds;
    std::chrono::milliseconds wait_max{2};
  };
  struct Context {
    Db& db;
    OperationQueue& queue;
    ClockMonitor& clocks;
    StoreClock& store_clock;
    const HealthState& health;
    const base::Clock& clock;
    std::string boot_id;
    Limits limits;
    QuotaDefaults quota_defaults;
    std::vector<ParkedClaim> parked{};
  };

  explicit CommitGroup(Context& context) : context_(context), capacity_(context.limits.bounds) {}

  // Takes operations from the queue until it is empty or a limit is reached, runs them and commits. If an
  // operation throws, or COMMIT reports a full disk, everything is rolled back and each operation is retried
  // alone, urgent ones first, otherwise in the same order. If the transaction cannot begin, that error is the
  // outcome of all operations. Any other failure of COMMIT ends the process. Returns true if the first try
  // succeeded.
  bool run();

  std::size_t size() const { return operations_.size(); }
  // After run: an operation failed because of the store's files.
  const std::optional<DbError>& failure() const { return failure_; }
  // After run: something was written and committed.
  bool has_written() const { return has_written_; }
  // After run: the outcomes to dispatch. Parked operations stay in the context.
  CompletedGroup completed();

 private:
  bool run_as_one(std::optional<DbError>& failure);
  bool run_queued(Tx& tx);
  void run_operation(std::size_t index, Tx& tx);
  void retry_parked_claims(Tx& tx, bool last);
  void run_one_by_one();
  base::Status run_alone_in_transaction(std::size_t index);
  template <class F>
  void transaction(F&& f);

  Context& context_;
  OperationQueue::Bounds capacity_;
  bool begun_ = false;
  bool has_written_ = false;
  std::optional<DbError> failure_;
  std::optional<DbError>
      unavailable_;  // no transaction could begin: the others of the group do not wait, too
  std::vector<QueuedOperation> operations_;
  std::vector<base::Status> outcomes_;
  std::vector<std::optional<Tx::Parking>> parked_for_;
  std::vector<Commit> commits_;
};

// Implements Writer: operation queue → commit thread (CommitGroup, in this process's turn at the gate) →
// CompletionDispatcher. The turn begins before operations are taken from the queue. Operations that arrive
// while this process waits for it join the group, and can still be withdrawn.
class GroupWriter final : public Writer {
 public:
  // How long a store that closes waits for its turn before it refuses the queued operations.
  static constexpr std::chrono::milliseconds kCloseTimeout{5'000};

  struct Options {
    std::size_t queue_max = 0;
    CommitGroup::Limits limits;
    QuotaDefaults quota_defaults;
  };
  struct Counts {
    std::uint64_t groups = 0, operations = 0, failed_groups = 0;
    double commit_seconds_max = 0;  // from acquiring the lock to the end of COMMIT
  };

  // Only the commit thread uses `db`.
  GroupWriter(const Options& options, const base::Clock& clock, Db& db, WriteGate& gate, HealthState& health);
  ~GroupWriter() override;

  void submit(Priority priority, std::size_t payload_bytes, Operation operation, Completion done) override;
  void on_commit(std::function<void(const Commit&)> hook) { dispatcher_.on_commit(std::move(hook)); }

  void on_group(Store::GroupObserver watch) { watch_ = std::move(watch); }
  void set_completion_scope(std::function<std::shared_ptr<void>()> s) {
    dispatcher_.set_completion_scope(std::move(s));
  }
  CompletionDispatcher& dispatcher() { return dispatcher_; }

  // Submits an urgent write that changes nothing.
  void try_write();
  // Completes queued operations that are not urgent with kOverloaded. Any thread.
  void withdraw(const std::string& why);
  // Refuses new operations, runs the queued ones, and runs their completions. If the write lock cannot be
  // acquired within `timeout`, the queued operations are refused instead. Must not be called from a
  // completion.
  void close(std::chrono::milliseconds timeout);

  std::size_t depth() const { return queue_.depth(); }
  // True if enough operations are unfinished that the sharing thread will probably be offered a group soon.
  // Parked claims do not count. Never blocks; any thread.
  bool has_large_group_pending() const {
    return queue_.unfinished() >= CompletionDispatcher::kSharedGroupMin + parked_;
  }
  Counts counts() const;

 private:
  void run();
  void run_group();
  void set_health(const CommitGroup& group);
  void count(const CommitGroup& group, bool first_try, std::chrono::steady_clock::duration took);
  std::optional<std::string> refusal(Priority priority) const;
  void refuse(std::vector<QueuedOperation> operations, const std::string& why);
  void refuse_parked();

  Options options_;
  WriteGate& gate_;
  HealthState& health_;
  Store::GroupObserver watch_;
  OperationQueue queue_;
  CompletionDispatcher dispatcher_;
  ClockMonitor clocks_;
  StoreClock store_clock_;
  CommitGroup::Context context_;
  std::atomic<std::size_t> parked_{0};  // number of parked operations
  mutable std::mutex mutex_;
  Counts counts_;
  bool ended_ = false;
  std::condition_variable end_;
  std::jthread thread_;
};

}  // namespace millrace::storage
