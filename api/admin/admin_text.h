#pragma once
#include <chrono>
#include <string>
#include <utility>

#include "api/call.h"
#include "platform/base/clock.h"
#include "schemas/json/json_text.h"
#include "storage/jobs/job_queries.h"

// Helpers for the responses below /v1/admin.
namespace millrace::api {

// Builds a JSON array of objects.
class JsonItems {
 public:
  void add(const std::string& json) { text_.append(text_.size() > 1 ? "," : "").append(json); }
  std::string finish() { return std::move(text_ += ']'); }

 private:
  std::string text_ = "[";
};

inline std::string seconds_text(std::chrono::milliseconds time) {
  return std::to_string(static_cast<double>(time.count()) / 1000.0);
}
// Seconds since `then`; 0 if it is in the future.
std::string age_text(base::WallTime then, base::WallTime now);

// queued, running, waiting, oldest_queued_seconds.
void add_depth(schemas::JsonObject& out, const storage::QueueDepth& depth, base::WallTime now);

// Replies {"items": [...]}.
void send_items(Call& call, JsonItems items);

}  // namespace millrace::api
