#include <string_view>
#include <utility>

#include "api/admin/health_texts.h"
#include "api/admin/metrics_application.h"
#include "api/call.h"
#include "api/dashboard/dashboard_files.h"
#include "api/handlers.h"
#include "api/reply.h"
#include "schemas/json/json_text.h"

namespace millrace::api {
namespace {

using schemas::JsonObject;

constexpr const char* kDiskFull =
    "less than store.disk_free_min is free";  // without numbers, which are for administrators

std::string state(HealthPart part, bool ok, const std::string& detail, std::string_view otherwise) {
  JsonObject out;
  out.member("status", ok ? "ok" : otherwise);
  if (ok) return out.finish();
  if (!detail.empty()) out.member("detail", detail);
  add_health_texts(out, part, ok);
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

// If dispatch is down, jobs start later but none is lost: the service is ready and `degraded`. If the store
// or disk accepts no new jobs, or the server is shutting down, it is not ready.
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
