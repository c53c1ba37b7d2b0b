#pragma once
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <vector>

#include "storage/writer/writer.h"

namespace millrace::storage {

// An operation that is queued in, or running in, the writer.
struct QueuedOperation {
  Writer::Priority priority = Writer::Priority::kNormal;
  std::size_t payload_bytes = 0;
  Writer::Operation operation;
  Writer::Completion done;
};

// Operations that wait for the commit thread; urgent and interactive ones come first, in their order. The
// limit also counts operations that were taken but not yet reported with `finished`, so it bounds the whole
// writer. Thread-safe.
class OperationQueue {
 public:
  struct Bounds {
    std::size_t operations = 0;  // per group
    std::size_t payload_bytes = 0;
  };
  enum class Push { kQueued, kFull, kClosed };

  explicit OperationQueue(std::size_t max) : max_(max) {}

  // Moves from `operation` only when it returns kQueued.
  Push push(QueuedOperation& operation);
  // Blocks until an operation is queued. False: closed and empty.
  bool wait();
  // Appends to `group` the operations that fit into `capacity`, at least one if the group is empty. Subtracts
  // their size from `capacity`. Returns how many were appended.
  std::size_t take(std::vector<QueuedOperation>& group, Bounds& capacity);
  std::vector<QueuedOperation> withdraw_not_urgent();
  std::vector<QueuedOperation> withdraw_all();
  // Reports that the completions of this many taken or withdrawn operations have run.
  void finished(std::size_t count);
  void close();
  std::size_t depth() const;  // operations not taken yet; parked claims do not count
  // Operations that count towards the limit. Never blocks.
  std::size_t unfinished() const { return unfinished_.load(std::memory_order_relaxed); }

 private:
  bool empty() const { return urgent_.empty() && normal_.empty(); }

  const std::size_t max_;
  mutable std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<QueuedOperation> urgent_, normal_;  // kInteractive operations are in `urgent_`, too
  std::atomic<std::size_t> unfinished_{0};       // changed under the mutex
  bool waiting_ = false;                         // the commit thread waits, so a push must wake it
  bool closed_ = false;
};

}  // namespace millrace::storage
