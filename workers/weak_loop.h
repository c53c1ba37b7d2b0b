#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "platform/net/loop.h"

namespace millrace::workers {

// Posts callbacks from other threads to the work loop. Callbacks that arrive after the loop's end are
// dropped. Copyable, thread-safe.
class WeakLoop {
 public:
  explicit WeakLoop(net::Loop& loop) : end_(std::make_shared<State>()) { end_->loop = &loop; }

  // False: the loop has ended, `f` will not run.
  bool post(std::function<void()> f) const {
    const std::lock_guard lock(end_->mutex);
    if (!end_->loop) return false;
    end_->loop->post(std::move(f));
    return true;
  }
  // Called before the loop is destroyed.
  void close() const {
    const std::lock_guard lock(end_->mutex);
    end_->loop = nullptr;
  }

 private:
  struct State {
    std::mutex mutex;
    net::Loop* loop = nullptr;
  };
  std::shared_ptr<State> end_;
};

}  // namespace millrace::workers
