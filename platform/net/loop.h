#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>

namespace millrace::net {

// An event loop: one thread that runs callbacks, timers and coroutines. Uses Asio; it is the lane `loop` of
// docs/design/architecture.md §6. Code that runs here must never block: no SQL, no file, no waiting for the
// writer. Thread-safe.
class Loop {
 public:
  explicit Loop(std::string name);
  ~Loop();  // stop()
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  void post(std::function<void()> f);
  // Like `post`, but if the loop is idle and nothing is queued, runs `f` and the tasks that it posts
  // immediately on this thread, as if it were the loop's thread. This saves the caller a thread switch. Call
  // it only on threads that never block, and without holding a lock that a task of the loop takes.
  void run_inline_if_idle(std::function<void()> f);
  // Runs `f` once after `delay`, unless the timer is cancelled or destroyed first. Destroying it on another
  // thread may race with a run that has started; `f` must tolerate that.
  class Timer {
   public:
    Timer() = default;
    void cancel();

   private:
    friend class Loop;
    struct State;
    std::shared_ptr<State> state_;
  };
  Timer after(std::chrono::milliseconds delay, std::function<void()> f);
  // Runs no more timers, runs all posted tasks, then joins the thread. Idempotent.
  void stop();
  bool on_this_thread() const;  // also true inside run_inline_if_idle

  struct Impl;
  Impl& impl() { return *impl_; }  // for the coroutines of this module (task.h)

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace::net
