#pragma once
// The Asio side of Loop, for this room's sources only.
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
  std::atomic<bool> idle{false};  // the thread waits; what it waits for may have come
  std::atomic<int> posted{0};     // tasks that were posted and have not begun
  using Time = std::chrono::steady_clock::time_point;
  using Timers = std::multimap<Time, std::function<void()>>;
  // Held by whoever runs what is the loop's: its thread, or a visitor.
  std::mutex turn;
  std::atomic<std::thread::id> holder{};
  // Under `turn`:
  bool stopped = false, visited = false;
  std::deque<std::function<void()>> of_visit;  // what the visitor has still to run
  // Over one timer of Asio's: what is cancelled, or set behind another, costs no wake-up.
  Timers timers;
  asio::steady_timer timer{context};
  Time armed = Time::max();
};

class Turn {
 public:
  explicit Turn(Loop::Impl& impl) : impl_(impl), lock_(impl.turn) {
    impl.holder.store(std::this_thread::get_id(), std::memory_order_relaxed);
  }
  ~Turn() { impl_.holder.store(std::thread::id(), std::memory_order_relaxed); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  Loop::Impl& impl_;
  const std::lock_guard<std::mutex> lock_;
};

// `f` as Asio has to be given it: it runs, and what it holds dies, in the loop's turn.
template <class F>
auto in_turn(Loop::Impl& impl, F f) {
  return [&impl, f = std::move(f)](auto... what) mutable {
    impl.idle.store(false, std::memory_order_relaxed);
    const Turn turn(impl);
    auto run = std::move(f);
    run(what...);
  };
}

}  // namespace millrace::net
