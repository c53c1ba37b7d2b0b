#include "platform/net/loop.h"

#include <atomic>
#include <latch>
#include <utility>

#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <pthread.h>

#include "platform/base/log.h"
#include "platform/net/loop_impl.h"

namespace millrace::net {

struct Loop::Timer::State {
  explicit State(asio::io_context& context) : timer(context) {}
  asio::steady_timer timer;
  std::atomic<bool> cancelled{false};
};

namespace {

// A callback that throws is a programming error: it is logged, and the loop goes on.
void run_context(asio::io_context& context) {
  for (;;) {
    try {
      context.run();
      return;
    } catch (const std::exception& e) {
      base::log_error("loop_callback_threw", {{"what", e.what()}});
    }
  }
}

}  // namespace

Loop::Loop(std::string name) : impl_(std::make_unique<Impl>()) {
  std::latch started(1);
  impl_->thread = std::jthread([this, name = std::move(name), &started] {
    pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
    impl_->thread_id = std::this_thread::get_id();
    asio::io_context& context = impl_->context;
    started.count_down();
    run_context(context);
  });
  started.wait();
}

Loop::~Loop() { stop(); }

void Loop::post(std::function<void()> f) { asio::post(impl_->context, std::move(f)); }

Loop::Timer Loop::after(std::chrono::milliseconds delay, std::function<void()> f) {
  Timer ticket;
  ticket.state_ = std::make_shared<Timer::State>(impl_->context);
  // The timer object is touched on the loop's thread only.
  post([state = ticket.state_, delay, f = std::move(f)]() mutable {
    if (state->cancelled) return;
    state->timer.expires_after(delay);
    state->timer.async_wait([state, f = std::move(f)](const asio::error_code& error) {
      if (!error && !state->cancelled.exchange(true)) f();
    });
  });
  return ticket;
}

void Loop::Timer::cancel() {
  if (!state_ || state_->cancelled.exchange(true)) return;
  asio::post(state_->timer.get_executor(), [state = state_] { state->timer.cancel(); });
}

void Loop::stop() {
  if (!impl_->thread.joinable()) return;
  impl_->work.reset();
  asio::post(impl_->context, [this] { impl_->context.stop(); });
  impl_->thread.join();
}

bool Loop::on_this_thread() const { return std::this_thread::get_id() == impl_->thread_id; }

}  // namespace millrace::net
