#include "api/admin/metrics_application.h"

#include <memory>
#include <string_view>
#include <utility>

#include "api/headers.h"
#include "api/reply.h"
#include "schemas/error_body.h"

namespace millrace::api {
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

front::Admission MetricsApplication::admit(const front::Head& head) {
  const auto host = head.header("host");
  if (host && head.path != kLivePath && !hosts_.contains(*host)) return refused(head, wrong_host(*host));
  if (head.path != kMetricsPath && head.path != kLivePath)
    return refused(head, base::error(Code::kNotFound, "This listener serves only /metrics and /livez"));
  if (head.method == "GET" || head.method == "HEAD") return front::Admit{.while_draining = true};
  front::Reply reply =
      refused(head, base::error(Code::kMethodNotAllowed, "This path allows only GET and HEAD"));
  add_header(reply, "allow", "GET, HEAD");
  return reply;
}

void MetricsApplication::run(front::Request request, front::Responder responder) {
  const auto head = std::make_shared<const front::Head>(std::move(request.head));
  if (head->path == kLivePath) {
    responder.send(with_common_headers(*head, json_reply(200, R"({"status":"ok"})")));
    return;
  }
  const bool posted = dependencies_.pool.post(base::Pool::Queue::kQuick, [this, head, responder] {
    responder.send(with_common_headers(*head, metrics(*head)));
  });
  if (!posted)
    responder.send(refused(*head, base::error(Code::kOverloaded, "Temporarily overloaded; retry")));
}

front::Reply MetricsApplication::metrics(const front::Head& head) {
  if (const base::Status may = may_read(head); !may) return api::error_reply(head.path, may.error());
  return metrics_reply(dependencies_.metrics);
}

// Refreshes first, so that keys created, revoked or changed by another process take effect at once.
base::Status MetricsApplication::may_read(const front::Head& head) {
  if (open_) return {};
  if (!auth_.refresh()) return key_error(Code::kOverloaded);
  const Auth::Decision decision = auth_.check(credential(head), head.peer);
  if (!decision.principal) return key_error(decision.refusal, decision.retry_after);
  if (decision.principal->scopes.allows(schemas::Scope::kMetrics)) return {};
  return scope_error(*decision.principal, schemas::Scope::kMetrics);
}

front::Reply MetricsApplication::error_reply(int status, std::string_view message, const front::Head& head) {
  auto [content_type, body] = schemas::error_body(head.path, status, message);
  return with_common_headers(
      head,
      {.status = status, .content_type = std::move(content_type), .headers = {}, .body = std::move(body)});
}

}  // namespace millrace::api
