#pragma once
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace millrace::base {

// The blocking threads (docs/design/architecture.md §6, "pool"). Two queues: `quick` (store reads, small
// files) goes first, `large` (bodies above 32 KiB, blobs) second, and at most one thread is on a large task,
// so that uploads never fill the pool. A task must not wait for another pool task. Thread-safe.
class Pool {
 public:
  enum class Lane { kQuick, kLarge };
  struct Options {
    unsigned threads = 2;
    std::size_t queue_max = 4096;  // per lane
  };

  explicit Pool(Options options);
  ~Pool();  // close()
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // False: the lane is full or the pool is closed, and `task` was not taken. Tasks must not throw.
  [[nodiscard]] bool post(Lane lane, std::function<void()> task);
  // The same past `queue_max`, for what ends work that was taken before and so is bounded by it. False: the
  // pool is closed.
  [[nodiscard]] bool post_reply(Lane lane, std::function<void()> task);
  // Runs what is queued to the end, then joins.
  void close();

 private:
  bool put(Lane lane, std::function<void()> task, std::size_t max);
  void run();
  Options options_;
  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<std::function<void()>> quick_, large_;
  bool large_running_ = false;
  bool closed_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace millrace::base
