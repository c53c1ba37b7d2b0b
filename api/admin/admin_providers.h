#pragma once
#include <chrono>
#include <string>
#include <utility>

#include "platform/base/clock.h"
#include "schemas/json/json_text.h"
#include "storage/jobs/job_queries.h"

// What several answers below /v1/admin are made of.
namespace millrace::api {

// JSON objects as a list.
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
// How long ago; 0 for what lies ahead.
std::string age_text(base::WallTime then, base::WallTime now);

// queued, running, waiting, oldest_queued_seconds.
void add_depth(schemas::JsonObject& out, const storage::QueueDepth& depth, base::WallTime now);

}  // namespace millrace::api
