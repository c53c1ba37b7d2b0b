#include "api/admin/live_overview.h"

#include <algorithm>

#include "api/admin/admin_text.h"
#include "api/admin/health_texts.h"
#include "api/call.h"
#include "api/handlers.h"
#include "storage/admin/admin_queries.h"

namespace millrace::api {
namespace {

using schemas::JsonObject;
using storage::QueueDepth;

std::string counts_json(const storage::OutcomeCounts& counts) {
  return JsonObject()
      .number("succeeded", counts.succeeded)
      .number("failed", counts.failed)
      .number("commands_failed", counts.commands_failed)
      .number("cancelled", counts.cancelled)
      .number("expired", counts.expired)
      .finish();
}

std::string spread_json(const storage::Percentiles& spread) {
  JsonObject out;
  if (spread.p50) out.raw("p50", seconds_text(*spread.p50));
  if (spread.p95) out.raw("p95", seconds_text(*spread.p95));
  return out.finish();
}

std::string minutes_json(const std::array<int, storage::kOutcomeMinutes>& minutes) {
  JsonItems items;
  for (const int count : minutes) items.add(std::to_string(count));
  return items.finish();
}

const QueueDepth* depth_of(const std::vector<QueueDepth>& depths, schemas::Kind kind) {
  const auto found =
      std::find_if(depths.begin(), depths.end(), [&](const auto& d) { return d.kind == kind; });
  return found == depths.end() ? nullptr : &*found;
}

std::string kind_json(const storage::KindOutcomes& outcomes, const QueueDepth* depth, base::WallTime now) {
  JsonObject out;
  out.member("kind", schemas::name(outcomes.kind));
  if (depth != nullptr) add_depth(out, *depth, now);
  return out.raw("minute", counts_json(outcomes.minute))
      .raw("hour", counts_json(outcomes.hour))
      .raw("day", counts_json(outcomes.day))
      .raw("wait_seconds", spread_json(outcomes.wait))
      .raw("run_seconds", spread_json(outcomes.run))
      .raw("succeeded_by_minute", minutes_json(outcomes.good))
      .raw("failed_by_minute", minutes_json(outcomes.bad))
      .finish();
}

std::string part_json(HealthPart part, bool ok, const std::string& detail) {
  JsonObject out;
  out.flag("ok", ok);
  if (!detail.empty()) out.member("detail", detail);
  add_health_texts(out, part, ok);
  return out.finish();
}

std::string health_json(const Context& context) {
  const storage::Store::Health health = context.store.health();
  const DispatchHealth dispatch = context.dispatch_health();
  return JsonObject()
      .raw("store", part_json(HealthPart::kStore, health.store_ok, health.store_detail))
      .raw("dispatch", part_json(HealthPart::kDispatch, dispatch.ok, dispatch.detail))
      .raw("disk", part_json(HealthPart::kDisk, health.disk_ok, health.disk_detail))
      .finish();
}

std::string store_json(const storage::Store& store) {
  const storage::Store::Stats stats = store.stats();
  return JsonObject()
      .number("db_bytes", stats.db_bytes)
      .number("wal_bytes", stats.wal_bytes)
      .number("disk_free_bytes", stats.disk_free_bytes)
      .number("queue_depth", static_cast<std::int64_t>(stats.queue_depth))
      .finish();
}

}  // namespace

base::Result<std::string> overview_json(Context& context) {
  const auto outcomes = storage::AdminQueries(context.store).outcomes();
  if (!outcomes) return outcomes.error();
  const auto depths = storage::JobQueries(context.store).depths();
  if (!depths) return depths.error();
  const base::WallTime now = outcomes->at;
  JsonItems kinds;
  for (const storage::KindOutcomes& kind : outcomes->kinds)
    kinds.add(kind_json(kind, depth_of(*depths, kind.kind), now));
  JsonObject out;
  out.member("at", base::rfc3339(now)).raw("kinds", kinds.finish());
  if (outcomes->since) out.member("counted_since", base::rfc3339(*outcomes->since));
  out.raw("store", store_json(context.store)).raw("health", health_json(context));
  return out.finish();
}

base::Result<std::string> LiveOverview::text(Context& context) {
  const std::lock_guard lock(mutex_);
  const base::BootTime now = context.clock.boot();
  if (!text_.empty() && now - made_at_ < context.options.feed_overview) return text_;
  auto made = overview_json(context);
  if (!made) return made.error();
  made_at_ = now;
  return text_ = *std::move(made);
}

void admin_overview(Context& context, CallPtr call) {
  auto text = overview_json(context);
  if (!text) return call->fail(text.error());
  call->reply(json_reply(200, *std::move(text)));
}

}  // namespace millrace::api
