#include "api/admission/cors.h"

#include <algorithm>

#include "api/reply.h"

namespace millrace::api {
namespace {

constexpr std::string_view kAnyOrigin = "*";
constexpr std::string_view kPreflightSeconds = "600";
// Headers of responses that a page may read, in addition to those that every page may.
constexpr std::string_view kExposed =
    "x-request-id, x-millrace-model, x-millrace-attempts, x-millrace-dropped-params, x-millrace-cost-usd, "
    "x-millrace-job, idempotent-replayed, preference-applied, location, retry-after, retry-after-ms, "
    "x-should-retry, "
    "x-ratelimit-limit-requests, x-ratelimit-remaining-requests, x-ratelimit-reset-requests, "
    "x-ratelimit-limit-tokens, x-ratelimit-remaining-tokens, x-ratelimit-reset-tokens, "
    "etag, accept-ranges, content-range, content-disposition, www-authenticate, allow";

}  // namespace

Cors::Answer Cors::answer(const front::Head& head) const {
  if (origins_.empty()) return {};
  const std::string_view origin = head.header("origin").value_or("");
  const bool allowed = std::ranges::any_of(
      origins_, [&](const std::string& each) { return each == kAnyOrigin || each == origin; });
  return {.origin = std::string(allowed ? origin : std::string_view()), .varies = true};
}

bool is_preflight(const front::Head& head) {
  return head.method == "OPTIONS" && head.header("access-control-request-method").has_value();
}

// Every request header is allowed: what a page may do depends on its key, and clients send headers of their
// own.
front::Reply preflight_reply(const front::Head& head, std::string_view allow) {
  front::Reply reply = empty_reply(204);
  add_header(reply, "access-control-allow-methods", allow);
  const std::string_view requested = head.header("access-control-request-headers").value_or("");
  if (!requested.empty()) add_header(reply, "access-control-allow-headers", requested);
  add_header(reply, "access-control-max-age", kPreflightSeconds);
  return reply;
}

void add_cors_headers(front::Reply& reply, const Cors::Answer& answer) {
  if (answer.varies) add_header(reply, "vary", "origin");
  if (answer.origin.empty()) return;
  add_header(reply, "access-control-allow-origin", answer.origin);
  add_header(reply, "access-control-expose-headers", kExposed);
}

}  // namespace millrace::api
