#include "ai/inference/chat/chat_shared.h"

#include <vector>

namespace millrace::inference {

void LiveRuns::add(ChatRun& run) {
  const std::lock_guard lock(mutex_);
  runs_.insert(&run);
}

void LiveRuns::remove(ChatRun& run) {
  const std::lock_guard lock(mutex_);
  runs_.erase(&run);
  if (runs_.empty()) none_left_.notify_all();
}

void LiveRuns::cancel_all() {
  std::vector<ChatRun*> all;
  {
    const std::lock_guard lock(mutex_);
    all.assign(runs_.begin(), runs_.end());
    all_cancelled_ = true;
    none_left_.notify_all();
  }
  for (ChatRun* run : all) run->cancel();
}

bool LiveRuns::wait(std::chrono::milliseconds bound) {
  std::unique_lock lock(mutex_);
  return none_left_.wait_for(lock, bound, [&] { return all_cancelled_ && runs_.empty(); });
}

}  // namespace millrace::inference
