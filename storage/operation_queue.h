#pragma once
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <vector>

#include "storage/writer.h"

namespace millrace::storage {

// An operation on its way through the writer.
struct Queued {
  Writer::Priority priority = Writer::Priority::kNormal;
  std::size_t payload_bytes = 0;
  Writer::Operation operation;
  Writer::Completion done;
};

// Operations that wait for the commit thread, urgent ones in front. The bound also counts those that were
// taken and not yet announced (`finished`), so that it bounds the writer as a whole. Thread-safe.
class OperationQueue {
 public:
  struct Bounds {
    std::size_t operations = 0;  // a group's
    std::size_t payload_bytes = 0;
  };
  enum class Push { kTaken, kFull, kClosed };

  explicit OperationQueue(std::size_t max) : max_(max) {}

  // Takes `operation` only if it says so.
  Push push(Queued& operation);
  // Blocks until there is something to take. False: closed and empty.
  bool wait();
  // Appends to `group` what fits into `room`, and always one if the group is empty; `room` is what is left
  // then. Returns how many.
  std::size_t take(std::vector<Queued>& group, Bounds& room);
  std::vector<Queued> withdraw_not_urgent();
  std::vector<Queued> withdraw_all();
  // Taken or withdrawn operations whose completion has run.
  void finished(std::size_t count);
  void close();
  std::size_t depth() const;  // operations that nobody has taken yet: claims that stand are none
  // Those that the bound counts. Waits for nobody.
  std::size_t unfinished() const { return unfinished_.load(std::memory_order_relaxed); }

 private:
  bool empty() const { return urgent_.empty() && normal_.empty(); }

  const std::size_t max_;
  mutable std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<Queued> urgent_, normal_;      // what is asked for stands with the urgent ones
  std::atomic<std::size_t> unfinished_{0};  // changed under the mutex
  bool waiting_ = false;                    // the commit thread waits: a push has to wake it
  bool closed_ = false;
};

}  // namespace millrace::storage
