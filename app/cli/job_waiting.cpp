#include "app/cli/job_waiting.h"

#include <nlohmann/json.hpp>

#include "app/cli/job_text.h"
#include "platform/base/clock.h"

namespace millrace::cli {
using nlohmann::json;
namespace {

constexpr int kEventPagesMax = 200;  // of 200 events: no job has more attempts within its time

// The newest event of a job; null: it has none, or they cannot be read.
json last_event(Client& client, const std::string& job) {
  std::string cursor;
  for (int page = 0; page < kEventPagesMax; ++page) {
    const auto answer =
        client.request("GET", "/v1/jobs/" + percent_encoded(job) + "/events?limit=200" + cursor);
    if (!answer.ok) return {};
    const json items = answer.json->value("items", json::array());
    const std::string next = answer.json->value("next_cursor", "");
    if (next.empty()) return items.empty() ? json() : items.back();
    cursor = "&cursor=" + percent_encoded(next);
  }
  return {};
}

}  // namespace

std::string why_it_waits(Client& client, const json& job) {
  if (job.value("status", "") != "queued") return {};
  const json last = is_held(job) ? json() : last_event(client, job.value("id", ""));
  return waiting_text(job, last, base::rfc3339(base::SystemClock().wall()));
}

}  // namespace millrace::cli
