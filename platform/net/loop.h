#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>

namespace millrace::net {

// One thread that runs callbacks, timers and coroutines (Asio behind it; lane `loop` of
// docs/design/architecture.md §6). What runs here must never block: no SQL, no file, no waiting for the
// writer. Thread-safe.
class Loop {
 public:
  explicit Loop(std::string name);
  ~Loop();  // stop()
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  void post(std::function<void()> f);
  // The same, but if the loop has nothing to do, and nothing was posted before, `f` and what it posts run at
  // once and here, as if this thread were the loop's: who waits for an answer is spared a wake-up. For
  // threads that do not block either; not under a lock that anything of the loop takes.
  void run_inline_if_idle(std::function<void()> f);
  // Runs `f` once after `delay` unless the ticket is dropped or cancelled first. Dropping it from another
  // thread may race with a run that has begun; `f` must tolerate that.
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
  // Runs no more timers, finishes what was posted, joins. Idempotent.
  void stop();
  bool on_this_thread() const;  // or on one that visits

  struct Impl;
  Impl& impl() { return *impl_; }  // for this room's coroutines (task.h)

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace::net
