#include "api/metrics_door.h"

#include <memory>
#include <utility>

#include "api/headers.h"
#include "api/reply.h"

namespace millrace::api {
namespace {

using base::Code;

constexpr std::string_view kMetricsPath = "/metrics";
constexpr std::string_view kLivePath = "/livez";

front::Reply dressed(const front::Head& head, front::Reply reply) {
  add_header(reply, "x-request-id", request_id(head));
  return reply;
}

front::Reply refused(const front::Head& head, const base::Error& error) {
  return dressed(head, api::error_reply(head.path, error));
}

}  // namespace

front::Reply metrics_reply(base::Metrics& metrics) {
  return {.status = 200,
          .content_type = "text/plain; version=0.0.4; charset=utf-8",
          .headers = {},
          .body = metrics.scrape()};
}

front::Admission MetricsDoor::admit(const front::Head& head) {
  if (head.path != kMetricsPath && head.path != kLivePath)
    return refused(head, base::error(Code::kNotFound, "This listener serves /metrics and /livez alone"));
  if (head.method == "GET" || head.method == "HEAD") return front::Admit{.while_draining = true};
  front::Reply reply = refused(head, base::error(Code::kMethodNotAllowed, "This path takes GET and HEAD"));
  add_header(reply, "allow", "GET, HEAD");
  return reply;
}

void MetricsDoor::run(front::Request request, front::Responder responder) {
  const auto head = std::make_shared<const front::Head>(std::move(request.head));
  if (head->path == kLivePath) {
    responder.send(dressed(*head, json_reply(200, R"({"status":"ok"})")));
    return;
  }
  const bool posted = ground_.pool.post(
      base::Pool::Lane::kQuick, [this, head, responder] { responder.send(dressed(*head, metrics(*head))); });
  if (!posted)
    responder.send(
        refused(*head, base::error(Code::kOverloaded, "The process has too much to do at the moment")));
}

front::Reply MetricsDoor::metrics(const front::Head& head) {
  if (const base::Status may = may_read(head); !may) return api::error_reply(head.path, may.error());
  return metrics_reply(ground_.metrics);
}

// Keys that were made, revoked or changed elsewhere since count at once.
base::Status MetricsDoor::may_read(const front::Head& head) {
  if (open_) return {};
  if (const base::Status fresh = auth_.refresh(); !fresh) return key_error(Code::kOverloaded);
  const Auth::Verdict verdict = auth_.check(credential(head));
  if (!verdict.principal) return key_error(verdict.refusal);
  const schemas::ScopeSet& scopes = verdict.principal->scopes;
  if (scopes.has(schemas::Scope::kMetrics) || scopes.has(schemas::Scope::kAdmin)) return {};
  return scope_error(*verdict.principal, schemas::Scope::kMetrics);
}

front::Reply MetricsDoor::error_reply(int status, std::string_view message, const front::Head& head) {
  auto [content_type, body] = schemas::error_body(head.path, status, message);
  return dressed(
      head,
      {.status = status, .content_type = std::move(content_type), .headers = {}, .body = std::move(body)});
}

}  // namespace millrace::api
