#include "api/reply.h"

#include <algorithm>

namespace millrace::api {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kRetryAfterDefault{1'000};
constexpr milliseconds kRetryAfterMax{59'999};  // clients ignore waits of a minute or more

std::int64_t seconds_up(milliseconds wait) { return std::chrono::ceil<std::chrono::seconds>(wait).count(); }

void add_retry_headers(front::Reply& reply, const base::Error& error, base::RetryClass retry) {
  if (retry == base::RetryClass::kPermanent) {
    add_header(reply, "x-should-retry", "false");
    // Only a person waits for the next day or month.
    if (error.code == base::Code::kBudgetExceeded && error.retry_after.count() > 0)
      add_header(reply, "retry-after", std::to_string(seconds_up(error.retry_after)));
    return;
  }
  const bool waits = reply.status == 429 || reply.status == 503;
  milliseconds wait = error.retry_after;
  if (wait.count() == 0 && waits) wait = kRetryAfterDefault;
  if (wait.count() == 0) return;
  wait = std::min(wait, kRetryAfterMax);
  add_header(reply, "retry-after-ms", std::to_string(wait.count()));
  add_header(reply, "retry-after", std::to_string(seconds_up(wait)));
}

front::Reply plain_error(std::string_view path, const base::Error& error, const schemas::Problems& problems) {
  auto [content_type, body] = schemas::error_body(path, error, problems);
  front::Reply reply{.status = base::info(error.code).http_status,
                     .content_type = std::move(content_type),
                     .headers = {},
                     .body = std::move(body)};
  if (reply.status == 401) add_header(reply, "www-authenticate", "Bearer");
  return reply;
}

}  // namespace

base::Error reply_budget_exhausted() {
  return base::error(base::Code::kOverloaded,
                     "Too many results are being sent to clients at once (http.reply_budget); retry");
}

front::Reply json_reply(int status, std::string body) {
  constexpr std::size_t kUsualHeaders = 4;
  front::Reply reply{
      .status = status, .content_type = std::string(kJson), .headers = {}, .body = std::move(body)};
  reply.headers.reserve(kUsualHeaders);
  return reply;
}

front::Reply empty_reply(int status) {
  return {.status = status, .content_type = {}, .headers = {}, .body = {}};
}

void add_header(front::Reply& reply, std::string_view name, std::string_view value) {
  reply.headers.push_back({std::string(name), std::string(value)});
}

front::Reply error_reply(std::string_view path, const base::Error& error, const schemas::Problems& problems) {
  base::Error shown = error;
  const base::RetryClass retry = base::retry_class(error);
  if (retry != base::RetryClass::kPermanent) shown.retry_after = std::min(shown.retry_after, kRetryAfterMax);
  front::Reply reply = plain_error(path, shown, problems);
  add_retry_headers(reply, shown, retry);
  return reply;
}

front::Reply permanent_failure(std::string_view path, const base::Error& error) {
  front::Reply reply = plain_error(path, error, {});
  add_header(reply, "x-should-retry", "false");
  return reply;
}

}  // namespace millrace::api
