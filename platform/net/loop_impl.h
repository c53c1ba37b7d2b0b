#pragma once
// The Asio implementation of Loop, for the sources of this module only.
#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>

#include "platform/net/loop.h"

namespace millrace::net {

struct Loop::Impl {
  asio::io_context context{1};
  asio::executor_work_guard<asio::io_context::executor_type> work{context.get_executor()};
  std::jthread thread;
  std::atomic<bool> idle{false};  // the thread waits for events; an event may have arrived already
  std::atomic<int> posted{0};     // posted tasks that have not started
  using Time = std::chrono::steady_clock::time_point;
  using Timers = std::multimap<Time, std::function<void()>>;
  // Held by the thread that currently runs the loop's tasks: the loop's thread, or one inside
  // run_inline_if_idle.
  std::mutex run_mutex;
  std::atomic<std::thread::id> holder{};
  // Protected by `run_mutex`:
  bool stopped = false, running_inline = false;
  // tasks that the thread inside run_inline_if_idle still has to run
  std::deque<std::function<void()>> inline_tasks;
  // All timers share one Asio timer. Cancelling one, or adding one that is due later, needs no wake-up.
  Timers timers;
  asio::steady_timer timer{context};
  Time armed = Time::max();
};

class RunLock {
 public:
  explicit RunLock(Loop::Impl& impl) : impl_(impl), lock_(impl.run_mutex) {
    impl.holder.store(std::this_thread::get_id(), std::memory_order_relaxed);
  }
  ~RunLock() { impl_.holder.store(std::thread::id(), std::memory_order_relaxed); }
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

 private:
  Loop::Impl& impl_;
  const std::lock_guard<std::mutex> lock_;
};

// Wraps `f` for Asio: it runs, and its captures are destroyed, while `run_mutex` is held.
template <class F>
auto with_run_lock(Loop::Impl& impl, F f) {
  return [&impl, f = std::move(f)](auto... what) mutable {
    impl.idle.store(false, std::memory_order_relaxed);
    const RunLock lock(impl);
    auto run = std::move(f);
    run(what...);
  };
}

}  // namespace millrace::net
