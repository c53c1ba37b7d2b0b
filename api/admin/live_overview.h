#pragma once
#include <mutex>
#include <string>

#include "api/context.h"

namespace millrace::api {

// What GET /v1/admin/overview answers. Blocks: pool.
base::Result<std::string> overview_json(Context& context);

// The overview that all clients of /v1/admin/events receive. It is computed once for all. Thread-safe.
class LiveOverview {
 public:
  // At most Options::feed_overview old. Blocks: pool.
  base::Result<std::string> text(Context& context);

 private:
  std::mutex mutex_;  // also: one makes it, the others wait for it
  base::BootTime made_at_{};
  std::string text_;
};

}  // namespace millrace::api
