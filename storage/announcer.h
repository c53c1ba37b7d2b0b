#pragma once
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "storage/operation_queue.h"

namespace millrace::storage {

// A group whose outcome is known: completions in order, and what it did if it was committed.
struct Announcement {
  struct Answer {
    Queued operation;  // what it holds is given back on the thread that announces it, too
    base::Status status;
  };
  std::vector<Answer> answers;
  Commit commit;
};

// The announce thread (architecture.md §6): completions, then the commit hook, group by group. Its queue is
// bounded by the operation queue, which counts what is not announced yet. One other thread may share its work
// and is left large groups that were committed (docs/adr/0033); never do both announce at once, and the order
// stays.
class Announcer {
 public:
  using Finished = std::function<void(std::size_t operations)>;

  static constexpr std::size_t kManyAnswers =
      8;  // from so many on, a group is left to the thread that shares,
  static constexpr std::chrono::milliseconds kPatience{20};  // for so long: then the announce thread has it
  static constexpr int kLentRounds = 4;  // what has come meanwhile is taken so often at a time

  // `finished` is told how many completions have run. A bound on time is the completions' own duty.
  explicit Announcer(Finished finished, std::chrono::milliseconds patience = kPatience);
  ~Announcer();  // close()

  // Before the first group.
  void on_commit(std::function<void(const Commit&)> hook) { hook_ = std::move(hook); }
  // Before the first group. What `scope` returns lives while the completions of one group run.
  void announce_within(std::function<std::shared_ptr<void>()> scope) { scope_ = std::move(scope); }
  // Any thread. After `close`: on the calling one.
  void announce(Announcement announcement);

  // For the thread that shares: lends it a descriptor, which can be read when there is something for it. -1:
  // the kernel has none. Then, on that thread, `take_lent`, until `return_lent`, on whichever.
  int lend();
  void take_lent();
  void return_lent();

  // Runs what is queued, then joins. Idempotent; not from a completion.
  void close();

 private:
  using Clock = std::chrono::steady_clock;
  using Lock = std::unique_lock<std::mutex>;
  enum class Sleep { kNone, kUntilWoken, kUntilTime };

  void run();
  bool is_due() const;
  void sleep(Lock& lock);
  void wake();
  void deliver_all(Lock& lock);
  void deliver_queued(Lock& lock);
  void deliver(Announcement& announcement);

  Finished finished_;
  const std::chrono::milliseconds patience_;
  std::function<void(const Commit&)> hook_;
  std::function<std::shared_ptr<void>()> scope_;
  std::mutex mutex_;
  std::condition_variable ready_;
  std::vector<Announcement> queue_;
  std::vector<Announcement> batch_;  // of the thread that delivers
  bool delivering_ = false;
  std::optional<Clock::time_point> left_until_;  // the queue is left to the thread that shares
  bool shared_ = false;
  int bell_ = -1;  // an eventfd, that thread's
  Sleep sleep_ = Sleep::kNone;
  bool closed_ = false;
  bool ended_ = false;  // the announce thread has
  std::jthread thread_;
};

}  // namespace millrace::storage
