#include "workers/jobs/slot_threads.h"

namespace millrace::workers {

void SlotThreads::enter() {
  const std::lock_guard lock(mutex_);
  ++taken_;
}

void SlotThreads::leave() {
  const std::lock_guard lock(mutex_);
  --taken_;
  changed_.notify_all();
}

void SlotThreads::wait_until_empty() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return taken_ == 0; });
}

}  // namespace millrace::workers
