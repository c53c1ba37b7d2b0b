#include "api/admin/admin_text.h"

#include <algorithm>

namespace millrace::api {

std::string age_text(base::WallTime then, base::WallTime now) {
  const auto age = std::chrono::duration_cast<std::chrono::milliseconds>(now - then);
  return seconds_text(std::max(age, std::chrono::milliseconds(0)));
}

void add_depth(schemas::JsonObject& out, const storage::QueueDepth& depth, base::WallTime now) {
  out.number("queued", depth.queued).number("running", depth.running).number("waiting", depth.waiting);
  out.number("scheduled", depth.scheduled);
  if (depth.oldest_queued) out.raw("oldest_queued_seconds", age_text(*depth.oldest_queued, now));
}

void send_items(Call& call, JsonItems items) {
  call.reply(json_reply(200, schemas::JsonObject().raw("items", items.finish()).finish()));
}

}  // namespace millrace::api
