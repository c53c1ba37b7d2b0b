#pragma once
#include <condition_variable>
#include <mutex>

namespace millrace::workers {

// Counts the threads of a runner that still run, so that it can outlive them. Thread-safe.
class SlotThreads {
 public:
  void enter();
  void leave();
  void wait_until_empty();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int taken_ = 0;
};

}  // namespace millrace::workers
