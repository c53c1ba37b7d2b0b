#pragma once
#include <cstddef>
#include <functional>

#include "platform/base/pool.h"
#include "platform/base/result.h"
#include "platform/net/loop.h"
#include "platform/net/task.h"

namespace millrace::inference {

// The result of every operation of a request whose client has disconnected.
inline base::Error cancelled() { return base::error(base::Code::kJobCancelled, "the request was cancelled"); }

// JSON up to this many bytes, or with texts up to this many bytes, is processed on the loop. Larger JSON goes
// to the pool so that it does not delay streams.
inline constexpr std::size_t kSmallJson = 32u << 10;

// Runs `work` in the pool's queue for large tasks if `is_large`, even if that queue is full: the number of
// running requests bounds it, and some tasks read files, which a loop must not do. Otherwise, or if the pool
// is closed, runs `work` at once. Returns only after the work, even when cancelled, so that everything it
// uses stays valid. Loop thread.
net::Task<void> run_on_pool(net::Loop& loop, base::Pool& pool, bool is_large, std::function<void()> work);

}  // namespace millrace::inference
