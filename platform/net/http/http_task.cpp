#include "platform/net/http/http_task.h"

#include <exception>
#include <memory>
#include <utility>

#include "platform/base/log.h"

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

base::Error work_failed() {
  return base::error(base::Code::kInternal,
                     "The request could not be processed: look for `pool_task_failed` in the server's log");
}

namespace {

void run_logged(const std::function<void()>& work) {
  try {
    work();
  } catch (const std::exception& fault) {
    base::log_error("pool_task_failed", {{"what", fault.what()}});
  }
}

}  // namespace

Task<void> run_on_pool(Loop& loop, base::Pool& pool, bool is_large, std::function<void()> work) {
  if (!is_large) {
    run_logged(work);
    co_return;
  }
  Awaited<bool>::Begin begin = [&](std::function<void(bool)> done) {
    const auto callback = std::make_shared<std::function<void(bool)>>(std::move(done));
    const bool taken = pool.post_reply(base::Pool::Queue::kLarge, [&loop, &work, callback] {
      run_logged(work);
      loop.post([callback] { (*callback)(true); });
    });
    if (taken) return;
    run_logged(work);
    (*callback)(true);
  };
  Awaited<bool> wait(std::move(begin));
  co_await wait;
}

}  // namespace millrace::net
