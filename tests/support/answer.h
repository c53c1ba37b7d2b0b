#pragma once
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "platform/base/result.h"
#include "tests/support/wait_until.h"

namespace millrace::support {

// Waits for the result of an asynchronous call. The callback may run on any thread.
template <class T>
class Answer {
 public:
  std::function<void(base::Result<T>)> take() {
    return [state = state_](base::Result<T> result) {
      const std::lock_guard lock(state->mutex);
      state->result = std::move(result);
      state->there.notify_all();
    };
  }
  // kInternal: no result arrived in time.
  base::Result<T> wait() {
    std::unique_lock lock(state_->mutex);
    if (!wait_until(state_->there, lock, [this] { return state_->result.has_value(); })) {
      return base::error(base::Code::kInternal, "no answer");
    }
    return *state_->result;
  }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable there;
    std::optional<base::Result<T>> result;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace millrace::support
