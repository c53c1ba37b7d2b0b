#pragma once
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace millrace::base {

// A pool of threads for blocking tasks (docs/design/architecture.md §6, "pool"). It has two queues. `quick`
// tasks (store reads, small files) run first, `large` tasks (bodies above 32 KiB, blobs) second. Only
// `large_max` threads run large tasks at once, so uploads never fill the pool. A task must not wait for
// another task of the pool. Thread-safe.
class Pool {
 public:
  enum class Queue { kQuick, kLarge };
  struct Options {
    unsigned threads = 2;
    unsigned large_max = 1;        // less than `threads`; more than 1 where large tasks wait for a network
    std::size_t queue_max = 4096;  // per queue
  };

  explicit Pool(Options options);
  ~Pool();  // close()
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // False: the queue is full or the pool is closed; `task` will not run. Tasks must not throw.
  [[nodiscard]] bool post(Queue queue, std::function<void()> task);
  // The same, but ignores `queue_max`. For tasks that complete work which was accepted earlier and is
  // therefore bounded. False: the pool is closed.
  [[nodiscard]] bool post_reply(Queue queue, std::function<void()> task);
  // Runs all queued tasks, then joins the threads.
  void close();

 private:
  bool put(Queue queue, std::function<void()> task, std::size_t max);
  void run();
  Options options_;
  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<std::function<void()>> quick_, large_;
  bool has_large() const;  // one that may begin now
  unsigned large_running_ = 0;
  bool closed_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace millrace::base
