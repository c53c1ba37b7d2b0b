#include "platform/net/loop.h"

#include <atomic>
#include <chrono>
#include <latch>
#include <optional>
#include <utility>

#include <asio/post.hpp>
#include <pthread.h>

#include "platform/base/log.h"
#include "platform/net/loop_impl.h"

namespace millrace::net {

struct Loop::Timer::State {
  explicit State(Impl& of) : impl(of) {}
  Impl& impl;
  std::atomic<bool> cancelled{false};
  std::optional<Impl::Timers::iterator> place;  // only while the run lock is held

  void forget() {
    if (!place) return;
    const auto gone = std::move((*place)->second);  // destroyed after its entry was removed
    impl.timers.erase(*std::exchange(place, std::nullopt));
  }
};

namespace {

constexpr int kInlineTasksMax = 64;  // tasks per run_inline_if_idle; the loop's thread runs the rest

// A callback that throws is a programming error. It is logged and the loop continues.
void guarded(const std::function<void()>& f) {
  try {
    f();
  } catch (const std::exception& e) {
    base::log_error("loop_callback_failed", {{"what", e.what()}});
  }
}

bool holds_run_lock(const Loop::Impl& impl) {
  return impl.holder.load(std::memory_order_relaxed) == std::this_thread::get_id();
}

void run_due(Loop::Impl& impl);

// This function and the next two require the run lock.
void arm_timer(Loop::Impl& impl) {
  impl.armed = impl.timers.empty() ? Loop::Impl::Time::max() : impl.timers.begin()->first;
  if (impl.timers.empty()) return;
  impl.timer.expires_at(impl.armed);
  impl.timer.async_wait(with_run_lock(impl, [&impl](asio::error_code error) {
    if (!error) run_due(impl);
  }));
}

void run_due(Loop::Impl& impl) {
  const auto now = std::chrono::steady_clock::now();
  impl.armed = Loop::Impl::Time::min();  // no timer is armed until the end of this function
  while (!impl.timers.empty() && impl.timers.begin()->first <= now) {
    const auto due = std::move(impl.timers.begin()->second);
    impl.timers.erase(impl.timers.begin());
    guarded(due);
  }
  arm_timer(impl);
}

Loop::Impl::Timers::iterator insert_timer(Loop::Impl& impl, Loop::Impl::Time when, std::function<void()> f) {
  const auto place = impl.timers.emplace(when, std::move(f));
  if (when < impl.armed) arm_timer(impl);
  return place;
}

// While this object exists, the calling thread counts as the loop's thread. REQUIRES: it holds the
// run lock.
class InlineRun {
 public:
  explicit InlineRun(Loop::Impl& impl) : impl_(impl) {
    impl_.holder.store(std::this_thread::get_id(), std::memory_order_relaxed);
    impl_.running_inline = true;
  }
  ~InlineRun() {
    impl_.running_inline = false;
    impl_.holder.store(std::thread::id(), std::memory_order_relaxed);
  }
  InlineRun(const InlineRun&) = delete;
  InlineRun& operator=(const InlineRun&) = delete;

 private:
  Loop::Impl& impl_;
};

}  // namespace

Loop::Loop(std::string name) : impl_(std::make_unique<Impl>()) {
  std::latch started(1);
  impl_->thread = std::jthread([this, name = std::move(name), &started] {
    pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
    Impl& impl = *impl_;
    started.count_down();
    while (!impl.context.stopped()) {
      guarded([&impl] {
        impl.idle.store(true, std::memory_order_relaxed);
        impl.context.run_one();
        impl.context.poll();
      });
    }
  });
  started.wait();
}

Loop::~Loop() { stop(); }

void Loop::post(std::function<void()> f) {
  if (on_this_thread() && impl_->running_inline) return impl_->inline_tasks.push_back(std::move(f));
  impl_->posted.fetch_add(1);
  asio::post(impl_->context, with_run_lock(*impl_, [&impl = *impl_, f = std::move(f)] {
               impl.posted.fetch_sub(1);
               f();
             }));
}

void Loop::run_inline_if_idle(std::function<void()> f) {
  Impl& impl = *impl_;
  if (on_this_thread() || !impl.idle.load(std::memory_order_relaxed) || impl.posted.load() > 0) {
    return post(std::move(f));
  }
  std::unique_lock lock(impl.run_mutex, std::try_to_lock);
  if (!lock || impl.stopped) {
    if (lock) lock.unlock();
    return post(std::move(f));
  }
  {
    const InlineRun inline_run(impl);
    impl.inline_tasks.push_back(std::move(f));
    for (int ran = 0; ran < kInlineTasksMax && !impl.inline_tasks.empty(); ++ran) {
      const auto next = std::move(impl.inline_tasks.front());
      impl.inline_tasks.pop_front();
      guarded(next);
    }
  }
  if (impl.inline_tasks.empty()) return;
  for (auto& left : std::exchange(impl.inline_tasks, {})) post(std::move(left));
}

Loop::Timer Loop::after(std::chrono::milliseconds delay, std::function<void()> f) {
  Timer ticket;
  ticket.state_ = std::make_shared<Timer::State>(*impl_);
  const auto when = std::chrono::steady_clock::now() + delay;
  auto set = [state = ticket.state_, when, f = std::move(f)]() mutable {
    if (state->cancelled) return;
    state->place = insert_timer(state->impl, when, [state, f = std::move(f)] {
      state->place.reset();
      if (!state->cancelled.exchange(true)) f();
    });
  };
  if (on_this_thread()) {
    set();
  } else {
    post(std::move(set));
  }
  return ticket;
}

void Loop::Timer::cancel() {
  if (!state_ || state_->cancelled.exchange(true)) return;
  if (holds_run_lock(state_->impl)) return state_->forget();
  asio::post(state_->impl.context, with_run_lock(state_->impl, [state = state_] { state->forget(); }));
}

void Loop::stop() {
  if (!impl_->thread.joinable()) return;
  {
    const std::lock_guard lock(impl_->run_mutex);
    impl_->stopped = true;
  }
  impl_->work.reset();
  asio::post(impl_->context, [this] { impl_->context.stop(); });
  impl_->thread.join();
}

bool Loop::on_this_thread() const { return holds_run_lock(*impl_); }

}  // namespace millrace::net
