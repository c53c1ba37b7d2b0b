#pragma once
#include <condition_variable>
#include <mutex>

namespace millrace::workers {

// Counts the running threads of a runner, so that its destructor can wait for them. Thread-safe.
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
