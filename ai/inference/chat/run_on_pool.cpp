#include "ai/inference/chat/run_on_pool.h"

#include <memory>
#include <utility>

namespace millrace::inference {

net::Task<void> run_on_pool(net::Loop& loop, base::Pool& pool, bool is_large, std::function<void()> work) {
  if (!is_large) {
    work();
    co_return;
  }
  net::Awaited<bool>::Begin begin = [&](std::function<void(bool)> done) {
    const auto callback = std::make_shared<std::function<void(bool)>>(std::move(done));
    const bool taken = pool.post_reply(base::Pool::Lane::kLarge, [&loop, &work, callback] {
      work();
      loop.post([callback] { (*callback)(true); });
    });
    if (taken) return;
    work();
    (*callback)(true);
  };
  net::Awaited<bool> wait(std::move(begin));
  co_await wait;
}

}  // namespace millrace::inference
