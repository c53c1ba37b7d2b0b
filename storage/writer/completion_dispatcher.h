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

#include "storage/writer/operation_queue.h"

namespace millrace::storage {

// A finished group: its completions in order, and, if it was committed, what it changed.
struct CompletedGroup {
  struct Outcome {
    QueuedOperation operation;  // also destroyed on the thread that runs the completion
    base::Status status;
  };
  std::vector<Outcome> outcomes;
  Commit commit;
};

// The completion thread (docs/design/architecture.md §6). For each group it runs the completions, then the
// commit hook. The queue is bounded by the operation queue, which counts operations whose completion has not
// run. One other thread can share the work: it is offered large committed groups (docs/adr/0033). The two
// threads never run completions at the same time, and the order is kept.
class CompletionDispatcher {
 public:
  using Finished = std::function<void(std::size_t operations)>;

  // A committed group of at least so many operations is offered to the sharing thread.
  static constexpr std::size_t kSharedGroupMin = 8;
  // If that thread has not taken the group by then, the completion thread runs it.
  static constexpr std::chrono::milliseconds kSharedTimeout{20};
  // How often the sharing thread takes newly queued groups per call.
  static constexpr int kSharedRoundsMax = 4;

  // `finished` gets the number of completions that have run. There is no time limit here: completions must be
  // short.
  explicit CompletionDispatcher(Finished finished, std::chrono::milliseconds shared_timeout = kSharedTimeout);
  ~CompletionDispatcher();  // calls close()

  // Call before the first group.
  void on_commit(std::function<void(const Commit&)> hook) { hook_ = std::move(hook); }
  // Call before the first group. The value that `scope` returns lives while the completions of one group run.
  void set_completion_scope(std::function<std::shared_ptr<void>()> scope) { scope_ = std::move(scope); }
  // Any thread. After `close`, the completions run on the calling thread.
  void dispatch(CompletedGroup completed);

  // Starts sharing. Returns an eventfd that becomes readable when a group is offered; -1 if the kernel has
  // none left. Call `run_shared` on the sharing thread when it is readable. `stop_sharing` ends it; any
  // thread may call it.
  int share();
  void run_shared();
  void stop_sharing();

  // Runs what is queued, then joins the thread. Idempotent. Must not be called from a completion.
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
  void deliver(CompletedGroup& completed);

  Finished finished_;
  const std::chrono::milliseconds shared_timeout_;
  std::function<void(const Commit&)> hook_;
  std::function<std::shared_ptr<void>()> scope_;
  std::mutex mutex_;
  std::condition_variable ready_;
  std::vector<CompletedGroup> queue_;
  std::vector<CompletedGroup> batch_;  // used by the thread that runs completions
  bool delivering_ = false;
  std::optional<Clock::time_point> shared_until_;  // until then the queue is offered to the sharing thread
  bool shared_ = false;
  int event_fd_ = -1;  // wakes the sharing thread
  Sleep sleep_ = Sleep::kNone;
  bool closed_ = false;
  bool ended_ = false;  // the completion thread has ended
  std::jthread thread_;
};

}  // namespace millrace::storage
