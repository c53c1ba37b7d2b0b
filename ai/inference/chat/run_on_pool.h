#pragma once
#include <cstddef>
#include <functional>

#include "platform/base/pool.h"
#include "platform/base/result.h"
#include "platform/net/loop.h"
#include "platform/net/task.h"

namespace millrace::inference {

// What everything that a request waits for ends with when its client has gone.
inline base::Error cancelled() { return base::error(base::Code::kJobCancelled, "the request was cancelled"); }

// Bytes of JSON, or of the texts in it, that are worked on where they are; what is more goes aside, so that
// no stream waits for it.
inline constexpr std::size_t kSmallJson = 32u << 10;

// Runs `work` on the pool's lane of large tasks if it is large, however many wait there: they are bounded by
// the requests under way, and some read files, which a loop must not. Else, and where the pool is closed, at
// once. Ends after the work, whatever is cancelled: what it uses is there until then. Loop thread.
net::Task<void> run_on_pool(net::Loop& loop, base::Pool& pool, bool is_large, std::function<void()> work);

}  // namespace millrace::inference
