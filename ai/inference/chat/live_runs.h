#pragma once
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <unordered_set>

#include "ai/inference/chat/chat.h"

namespace millrace::inference {

// The runs whose tasks have not ended, nor been given up before they began. Loop thread only but for `wait`.
class LiveRuns {
 public:
  void add(ChatRun& run);
  void remove(ChatRun& run);
  void cancel_all();
  // Until all were cancelled and none is left: what had been posted to the loop before the call of
  // `cancel_all` has run as well, be it the begin of a run. False: not within `bound`. Not on the loop.
  bool wait(std::chrono::milliseconds bound);

 private:
  std::mutex mutex_;
  std::condition_variable none_left_;
  bool all_cancelled_ = false;
  std::unordered_set<ChatRun*> runs_;
};

}  // namespace millrace::inference
