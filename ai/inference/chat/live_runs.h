#pragma once
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <unordered_set>

#include "ai/inference/chat/chat.h"

namespace millrace::inference {

// Runs whose tasks have neither ended nor been dropped before they began. Loop thread only, except `wait`.
class LiveRuns {
 public:
  void add(ChatRun& run);
  void remove(ChatRun& run);
  void cancel_all();
  // Waits until all runs are cancelled and none is left. Work that was posted to the loop before
  // `cancel_all`, such as the start of a run, has then also run. Returns false if this takes longer than
  // `bound`. Never call it on the loop.
  bool wait(std::chrono::milliseconds bound);

 private:
  std::mutex mutex_;
  std::condition_variable none_left_;
  bool all_cancelled_ = false;
  std::unordered_set<ChatRun*> runs_;
};

}  // namespace millrace::inference
