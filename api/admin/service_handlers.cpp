#include "api/admin/service_handlers.h"

#include <memory>
#include <string_view>
#include <utility>

#include "api/call.h"
#include "api/dashboard/dashboard_files.h"
#include "api/handlers.h"
#include "api/headers.h"
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

namespace {

struct HealthTexts {
  std::string_view means, what_to_do;
};

constexpr HealthTexts health_texts(HealthPart part) {
  switch (part) {
    case HealthPart::kStore:
      return {"The database that stores all jobs.",
              "New jobs are rejected until the database is writable again: resume or end the process that "
              "locks it (see the detail), and check that its disk accepts writes."};
    case HealthPart::kDispatch:
      return {"How idle workers are notified of new jobs: inside this process, or through Kafka.",
              "No job is lost: workers poll for jobs and start them a second or two later. Check that Kafka "
              "runs and is reachable from this host."};
    case HealthPart::kDisk:
      return {"Free space on the disk of the data directory.",
              "New jobs are rejected until there is space: free some, or lower store.disk_free_min."};
  }
  return {};
}

}  // namespace

void add_health_texts(schemas::JsonObject& out, HealthPart part, bool ok) {
  const HealthTexts words = health_texts(part);
  out.member("means", words.means);
  if (!ok) out.member("what_to_do", words.what_to_do);
}

namespace {

using base::Code;

constexpr std::string_view kMetricsPath = "/metrics";
constexpr std::string_view kLivePath = "/livez";

front::Reply with_common_headers(const front::Head& head, front::Reply reply) {
  add_header(reply, "x-request-id", request_id(head));
  return reply;
}

front::Reply refused(const front::Head& head, const base::Error& error) {
  return with_common_headers(head, api::error_reply(head.path, error));
}

}  // namespace

front::Reply metrics_reply(base::Metrics& metrics) {
  return {.status = 200,
          .content_type = "text/plain; version=0.0.4; charset=utf-8",
          .headers = {},
          .body = metrics.scrape()};
}

front::Admission MetricsAccess::admit(const front::Head& head) {
  if (head.path != kMetricsPath && head.path != kLivePath)
    return refused(head, base::error(Code::kNotFound, "This listener serves only /metrics and /livez"));
  if (head.method == "GET" || head.method == "HEAD") return front::Admit{.while_draining = true};
  front::Reply reply =
      refused(head, base::error(Code::kMethodNotAllowed, "This path allows only GET and HEAD"));
  add_header(reply, "allow", "GET, HEAD");
  return reply;
}

void MetricsAccess::run(front::Request request, front::Responder responder) {
  const auto head = std::make_shared<const front::Head>(std::move(request.head));
  if (head->path == kLivePath) {
    responder.send(with_common_headers(*head, json_reply(200, R"({"status":"ok"})")));
    return;
  }
  const bool posted = dependencies_.pool.post(base::Pool::Lane::kQuick, [this, head, responder] {
    responder.send(with_common_headers(*head, metrics(*head)));
  });
  if (!posted)
    responder.send(refused(*head, base::error(Code::kOverloaded, "Temporarily overloaded; retry")));
}

front::Reply MetricsAccess::metrics(const front::Head& head) {
  if (const base::Status may = may_read(head); !may) return api::error_reply(head.path, may.error());
  return metrics_reply(dependencies_.metrics);
}

// Refreshes first, so that keys created, revoked or changed by another process take effect at once.
base::Status MetricsAccess::may_read(const front::Head& head) {
  if (open_) return {};
  if (const base::Status fresh = auth_.refresh(); !fresh) return key_error(Code::kOverloaded);
  const Auth::Decision decision = auth_.check(credential(head));
  if (!decision.principal) return key_error(decision.refusal);
  const schemas::ScopeSet& scopes = decision.principal->scopes;
  if (scopes.has(schemas::Scope::kMetrics) || scopes.has(schemas::Scope::kAdmin)) return {};
  return scope_error(*decision.principal, schemas::Scope::kMetrics);
}

front::Reply MetricsAccess::error_reply(int status, std::string_view message, const front::Head& head) {
  auto [content_type, body] = schemas::error_body(head.path, status, message);
  return with_common_headers(
      head,
      {.status = status, .content_type = std::move(content_type), .headers = {}, .body = std::move(body)});
}

}  // namespace millrace::api
