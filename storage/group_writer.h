#pragma once
#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "storage/announcer.h"
#include "storage/failure_flag.h"
#include "storage/group.h"
#include "storage/health_board.h"
#include "storage/operation_queue.h"
#include "storage/turnstile.h"
#include "storage/writer.h"

namespace millrace::storage {

// Implements Writer: operation queue → commit thread (CommitGroup, under the fair write lock) →
// CompletionDispatcher. The lock is acquired before operations are taken from the queue. Operations that
// arrive while this process waits for the lock join the group, and can still be withdrawn.
class GroupWriter final : public Writer {
 public:
  struct Options {
    std::string database;
    std::size_t queue_max = 0;
    Group::Limits limits;
  };
  struct Counts {
    std::uint64_t groups = 0, operations = 0, failed_groups = 0;
    double commit_seconds_max = 0;  // from acquiring the lock to the end of COMMIT
  };

  // Opens its connection; throws SqliteError. `committed` runs on the commit thread after each group, after
  // the lock was released. It gets the number of pages in the write-ahead log and passes it to the
  // checkpointer.
  GroupWriter(Options options, const base::Clock& clock, Turnstile& turnstile, const FailureFlag& failure,
              HealthBoard& health, std::function<void(int)> committed);
  ~GroupWriter() override;

  void submit(Priority priority, std::size_t payload_bytes, Operation operation, Completion done) override;
  void on_commit(std::function<void(const Commit&)> hook) { announcer_.on_commit(std::move(hook)); }

  void on_group(Store::GroupWatch watch) { watch_ = std::move(watch); }
  void announce_within(std::function<std::shared_ptr<void>()> s) { announcer_.announce_within(std::move(s)); }
  Announcer& announcer() { return announcer_; }

  // Completes queued operations that are not urgent with kOverloaded. Any thread.
  void withdraw(const std::string& why);
  // Refuses new operations, runs the queued ones, and runs their completions. If the write lock cannot be
  // acquired within `timeout`, the queued operations are refused instead. Must not be called from a
  // completion.
  void close(std::chrono::milliseconds patience);

  std::size_t depth() const { return queue_.depth(); }
  // True if enough operations are unfinished that the sharing thread will probably be offered a group soon.
  // Parked claims do not count. Never blocks; any thread.
  bool has_many_under_way() const { return queue_.unfinished() >= Announcer::kManyAnswers + standing_; }
  Counts counts() const;

 private:
  void run();
  void run_group();
  void count(const Group& group, bool first_try, std::chrono::steady_clock::duration took);
  std::optional<std::string> refusal(Priority priority) const;
  void refuse(std::vector<Queued> operations, const std::string& why);
  void refuse_standing();

  Options options_;
  Turnstile& turnstile_;
  const FailureFlag& failure_;
  HealthBoard& health_;
  std::function<void(int)> committed_;
  Store::GroupWatch watch_;
  OperationQueue queue_;
  Announcer announcer_;
  ClockWatch clocks_;
  Db db_;
  Group::Context context_;
  std::atomic<std::size_t> standing_{0};  // number of parked operations
  mutable std::mutex mutex_;
  Counts counts_;
  bool ended_ = false;
  std::condition_variable end_;
  std::jthread thread_;
};

}  // namespace millrace::storage
