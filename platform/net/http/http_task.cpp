#include "platform/net/http/http_task.h"

#include <memory>
#include <utility>

namespace millrace::net {

Task<bool> pause(Loop& loop, std::chrono::milliseconds time, Cancel& cancel) {
  StartCall<bool> begin = [&loop, time](std::function<void(bool)> done) -> std::function<void()> {
    auto timer = std::make_shared<Loop::Timer>();
    *timer = loop.after(time, [done = std::move(done)] { done(true); });
    return [timer] { timer->cancel(); };
  };
  Task<std::optional<bool>> wait = cancellable<bool>(loop, std::move(begin), cancel);
  const std::optional<bool> passed = co_await wait;
  co_return passed.has_value();
}

Task<void> run_on_pool(Loop& loop, base::Pool& pool, bool is_large, std::function<void()> work) {
  if (!is_large) {
    work();
    co_return;
  }
  Awaited<bool>::Begin begin = [&](std::function<void(bool)> done) {
    const auto callback = std::make_shared<std::function<void(bool)>>(std::move(done));
    const bool taken = pool.post_reply(base::Pool::Queue::kLarge, [&loop, &work, callback] {
      work();
      loop.post([callback] { (*callback)(true); });
    });
    if (taken) return;
    work();
    (*callback)(true);
  };
  Awaited<bool> wait(std::move(begin));
  co_await wait;
}

}  // namespace millrace::net
