#include "api/call.h"
#include "api/dashboard_files.h"
#include "api/handlers.h"
#include "api/health_words.h"
#include "api/metrics_door.h"
#include "schemas/json_text.h"

namespace millrace::api {
namespace {

using schemas::JsonObject;

constexpr const char* kDiskFull = "less than store.disk_free_min is free";  // the figures are for admins

std::string state(HealthPart part, bool ok, const std::string& detail, std::string_view otherwise) {
  JsonObject out;
  out.member("status", ok ? "ok" : otherwise);
  if (!detail.empty()) out.member("detail", detail);
  add_health_words(out, part, ok);
  return out.finish();
}

}  // namespace

void root(Context&, CallPtr call) {
  if (accepts_page(call->head())) return send_dashboard(*call);
  front::Reply reply = json_reply(200, JsonObject()
                                           .member("name", "millrace")
                                           .member("version", MILLRACE_VERSION)
                                           .member("docs", "/docs")
                                           .member("openapi", "/openapi.json")
                                           .member("health", "/readyz")
                                           .finish());
  add_header(reply, "vary", "accept");
  call->reply(std::move(reply));
}

void livez(Context&, CallPtr call) { call->reply(json_reply(200, R"({"status":"ok"})")); }

void health(Context& context, CallPtr call) {
  call->reply(json_reply(200, JsonObject().member("status", context.draining ? "draining" : "ok").finish()));
}

// Dispatch that is down costs latency, never a job: ready, and `degraded`. A store or disk that takes no new
// job, and a server that is shutting down, are not ready.
void readyz(Context& context, CallPtr call) {
  const storage::Store::Health store = context.store.health();
  const DispatchHealth dispatch = context.dispatch_health();
  const bool draining = context.draining;
  const bool ready = store.store_ok && store.disk_ok && !draining;
  JsonObject out;
  out.member("status", draining ? "draining" : !ready ? "unavailable" : dispatch.ok ? "ok" : "degraded");
  out.raw("store", state(HealthPart::kStore, store.store_ok, store.store_detail, "degraded"));
  out.raw("dispatch", state(HealthPart::kDispatch, dispatch.ok, dispatch.detail, "degraded"));
  out.raw("disk", state(HealthPart::kDisk, store.disk_ok, store.disk_ok ? "" : kDiskFull, "full"));
  front::Reply reply = json_reply(ready ? 200 : 503, out.finish());
  if (!ready) {
    add_header(reply, "retry-after-ms", "1000");
    add_header(reply, "retry-after", "1");
  }
  call->reply(std::move(reply));
}

void version(Context&, CallPtr call) {
  call->reply(
      json_reply(200, JsonObject().member("name", "millrace").member("version", MILLRACE_VERSION).finish()));
}

void metrics(Context& context, CallPtr call) { call->reply(metrics_reply(context.metrics)); }

void openapi(Context& context, CallPtr call) { call->reply(json_reply(200, context.openapi)); }

}  // namespace millrace::api
