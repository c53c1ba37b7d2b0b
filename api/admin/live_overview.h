#pragma once
#include <mutex>
#include <string>

#include "api/context.h"

namespace millrace::api {

// The response body of GET /v1/admin/overview. Blocks; runs on the pool.
base::Result<std::string> overview_json(Context& context);

// The overview that all clients of /v1/admin/events receive. It is computed once for all. Thread-safe.
class LiveOverview {
 public:
  // At most Options::feed_overview old. Blocks; runs on the pool.
  base::Result<std::string> text(Context& context);

 private:
  std::mutex mutex_;  // also held while one thread computes the overview and others wait for it
  base::BootTime made_at_{};
  std::string text_;
};

}  // namespace millrace::api
