#pragma once
#include <algorithm>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

// Coroutines for code that waits for the network. All of them run on one loop's thread; they must not block
// or take locks. GCC 12 destroys aggregate temporaries and capturing lambdas in an expression with `co_await`
// twice: store them in a named variable first, then move it (docs/design/style.md).
namespace millrace::net {

template <class T>
class Task;

namespace detail {

struct PromiseBase {
  std::coroutine_handle<> waiting = std::noop_coroutine();

  struct Final {
    bool await_ready() noexcept { return false; }
    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> self) noexcept {
      return self.promise().waiting;
    }
    void await_resume() noexcept {}
  };
  std::suspend_always initial_suspend() noexcept { return {}; }
  Final final_suspend() noexcept { return {}; }
  // Errors are values (base::Result); an exception is a programming error.
  [[noreturn]] void unhandled_exception() noexcept { std::terminate(); }
};

template <class T>
struct Promise : PromiseBase {
  std::optional<T> value;
  Task<T> get_return_object();
  void return_value(T result) { value.emplace(std::move(result)); }
};

template <>
struct Promise<void> : PromiseBase {
  Task<void> get_return_object();
  void return_void() {}
};

}  // namespace detail

// A coroutine that starts when it is awaited. This object owns its frame and must not be destroyed before the
// coroutine has ended.
template <class T>
class [[nodiscard]] Task {
 public:
  using promise_type = detail::Promise<T>;
  explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  Task& operator=(Task&&) = delete;
  ~Task() {
    if (handle_) handle_.destroy();
  }

  bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> waiting) noexcept {
    handle_.promise().waiting = waiting;
    return handle_;
  }
  T await_resume() {
    if constexpr (!std::is_void_v<T>) return std::move(*handle_.promise().value);
  }

 private:
  std::coroutine_handle<promise_type> handle_;
};

template <class T>
Task<T> detail::Promise<T>::get_return_object() {
  return Task<T>(std::coroutine_handle<Promise<T>>::from_promise(*this));
}
inline Task<void> detail::Promise<void>::get_return_object() {
  return Task<void>(std::coroutine_handle<Promise<void>>::from_promise(*this));
}

namespace detail {

// The root of a chain: starts immediately and destroys itself when it ends.
struct Detached {
  struct promise_type {
    Detached get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    [[noreturn]] void unhandled_exception() noexcept { std::terminate(); }
  };
};
inline Detached run(Task<void> task, std::function<void()> ended) {
  co_await task;
  if (ended) ended();
}

}  // namespace detail

// Starts `task` on this thread, which must be the loop's. Calls `ended` on the same thread when it has ended.
// Everything that the task uses must outlive it. A task cannot be destroyed early; cancel it with Cancel.
inline void spawn(Task<void> task, std::function<void()> ended = {}) {
  detail::run(std::move(task), std::move(ended));
}

// Awaits a call that returns its result through a callback. `begin(done)` starts the call. It calls `done(T)`
// exactly once on the loop's thread, immediately or later.
template <class T>
class Awaited {
 public:
  using Begin = std::function<void(std::function<void(T)>)>;
  explicit Awaited(Begin begin) : begin_(std::move(begin)) {}

  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> waiting) {
    auto state = state_;
    begin_([state, waiting](T value) {
      state->value.emplace(std::move(value));
      if (state->suspended) waiting.resume();
    });
    if (state->value) return false;
    state->suspended = true;
    return true;
  }
  T await_resume() { return std::move(*state_->value); }

 private:
  struct State {
    std::optional<T> value;
    bool suspended = false;
  };
  Begin begin_;
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

namespace detail {

struct ConcurrentTasks {
  std::vector<Task<void>> tasks;
  std::size_t parallel, next = 0, running = 0;
  std::function<void(bool)> done;

  static void start_next(const std::shared_ptr<ConcurrentTasks>& self) {
    while (self->next < self->tasks.size() && self->running < self->parallel) {
      ++self->running;
      spawn(std::move(self->tasks[self->next++]), [self] {
        --self->running;
        start_next(self);
      });
    }
    if (self->running > 0 || self->next < self->tasks.size()) return;
    if (auto done = std::exchange(self->done, {})) done(true);
  }
};

}  // namespace detail

// Runs all tasks, started in order, with at most `parallel` (at least 1) at a time. Ends when all have ended.
inline Task<void> all(std::vector<Task<void>> tasks, std::size_t parallel) {
  auto together = std::make_shared<detail::ConcurrentTasks>();
  together->tasks = std::move(tasks);
  together->parallel = std::max<std::size_t>(parallel, 1);
  Awaited<bool>::Begin begin = [together](std::function<void(bool)> done) {
    together->done = std::move(done);
    detail::ConcurrentTasks::start_next(together);
  };
  Awaited<bool> wait(std::move(begin));
  co_await wait;
}

// A cancellation token that tasks can listen to. Loop thread only; shared by a tree of tasks.
class Cancel {
 public:
  // Calls all current listeners once. Later listeners are called immediately.
  void request() {
    if (std::exchange(requested_, true)) return;
    for (auto& [number, callback] : std::exchange(listeners_, {})) callback();
  }
  bool requested() const { return requested_; }
  // Calls `on_request` at most once, from inside `request`. Returns a number for `remove_listener`.
  int listen(std::function<void()> on_request) {
    const int number = ++last_;
    if (requested_) {
      on_request();
    } else {
      listeners_.emplace(number, std::move(on_request));
    }
    return number;
  }
  void remove_listener(int number) { listeners_.erase(number); }

 private:
  bool requested_ = false;
  int last_ = 0;
  std::map<int, std::function<void()>> listeners_;
};

}  // namespace millrace::net
