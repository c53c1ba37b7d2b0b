#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/front/exchange.h"
#include "platform/base/ids.h"
#include "platform/base/result.h"

// Request headers, read strictly and once.
namespace millrace::api {

std::string_view trimmed(std::string_view text);  // without spaces and tabs around it

// `x-request-id` if it is at most 128 of [A-Za-z0-9._-], else a new one.
std::string request_id(const front::Head& head);

// A valid W3C traceparent (version 00, ids not zero), or empty.
std::string traceparent(const front::Head& head);

// RFC 7240.
struct Prefer {
  bool respond_async = false;
  std::optional<std::chrono::seconds> wait;  // as asked for, not yet bounded
};
Prefer prefer(const front::Head& head);

// 1 to 255 printable ASCII characters, the quoted form accepted; nullopt: none was sent. kBadRequest else.
base::Result<std::optional<std::string>> idempotency_key(const front::Head& head);

// True if the Content-Type is application/json (or …+json), in UTF-8.
bool is_json_type(std::string_view content_type);
bool accepts_event_stream(const front::Head& head);

// Opaque page cursors: what they hold may change, that they are opaque does not.

inline constexpr int kPageDefault = 50;
inline constexpr int kPageMax = 200;

std::string job_cursor(const base::Uuid& before);
std::optional<base::Uuid> job_cursor_of(std::string_view text);
std::string event_cursor(std::int64_t after_version);
std::optional<std::int64_t> event_cursor_of(std::string_view text);

}  // namespace millrace::api
