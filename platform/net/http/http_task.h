#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "platform/base/pool.h"
#include "platform/base/result.h"
#include "platform/net/http/http_client.h"
#include "platform/net/task.h"

// Awaitable operations for tasks. Loop thread only; references must outlive the wait.
namespace millrace::net {

// The result of an operation whose `cancel` was requested.
inline base::Error cancelled() { return base::error(base::Code::kJobCancelled, "the request was cancelled"); }

// Waits for `time`. False: `cancel` was requested first.
Task<bool> pause(Loop& loop, std::chrono::milliseconds time, Cancel& cancel);

// What a result is until `work` of run_on_pool has set it. `work` may throw.
base::Error work_failed();

// Runs `work` in the pool's queue for large tasks if `is_large`, even if that queue is full: the number of
// running requests bounds it, and some tasks read files, which a loop must not do. Otherwise, or if the pool
// is closed, runs `work` at once. Returns only after the work, even when cancelled, so that everything it
// uses stays valid. An exception of `work` is logged; it sets no result then. Loop thread.
Task<void> run_on_pool(Loop& loop, base::Pool& pool, bool is_large, std::function<void()> work);

// Starts a call that returns its result through `done`, at most once, on the loop's thread. Returns a
// function that abandons the call.
template <class T>
using StartCall = std::function<std::function<void()>(std::function<void(T)> done)>;

// Awaits the result of a call. nullopt: `cancel` was requested first; the call is then abandoned and its
// result dropped. Needs little memory and no coroutine frame.
template <class T>
class Cancellable {
 public:
  Cancellable(Loop& loop, StartCall<T> begin, Cancel& cancel)
      : loop_(loop), cancel_(cancel), begin_(std::move(begin)) {}
  Cancellable(const Cancellable&) = delete;
  Cancellable& operator=(const Cancellable&) = delete;

  bool await_ready() const { return cancel_.requested(); }
  bool await_suspend(std::coroutine_handle<> waiting) {
    const auto state = state_ = std::make_shared<State>();
    state->cancel_call = begin_([state](T value) { state->settle(std::move(value)); });
    begin_ = nullptr;
    if (state->settled) return false;
    state->waiting = waiting;
    // The waiting coroutine is resumed by a posted task, not from inside the call to `request`.
    listener_ = cancel_.listen([state, &loop = loop_] {
      if (const auto cancel_call = std::exchange(state->cancel_call, nullptr)) cancel_call();
      loop.post([state] { state->settle(std::nullopt); });
    });
    return true;
  }
  std::optional<T> await_resume() {
    if (!state_) return std::nullopt;
    cancel_.remove_listener(listener_);
    state_->cancel_call = nullptr;
    return std::move(state_->answer);
  }

 private:
  struct State {
    std::optional<T> answer;
    bool settled = false;
    std::coroutine_handle<> waiting = {};  // set while the coroutine is suspended
    std::function<void()> cancel_call = {};

    void settle(std::optional<T> value) {
      if (std::exchange(settled, true)) return;
      answer = std::move(value);
      if (waiting) waiting.resume();
    }
  };
  Loop& loop_;
  Cancel& cancel_;
  StartCall<T> begin_;
  std::shared_ptr<State> state_;
  int listener_ = 0;
};

// The same, as a task.
template <class T>
Task<std::optional<T>> cancellable(Loop& loop, StartCall<T> begin, Cancel& cancel) {
  Cancellable<T> wait(loop, std::move(begin), cancel);
  co_return co_await wait;
}

}  // namespace millrace::net
