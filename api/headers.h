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

// Strict parsers for request headers.
namespace millrace::api {

std::string_view trimmed(std::string_view text);  // without leading and trailing spaces and tabs

// The value of `x-request-id` if it is at most 128 characters of [A-Za-z0-9._-], else a new id.
std::string request_id(const front::Head& head);

// A valid W3C traceparent (version 00, ids not zero), or empty.
std::string traceparent(const front::Head& head);

// RFC 7240.
struct Prefer {
  bool respond_async = false;
  std::optional<std::chrono::seconds> wait;  // as requested, not yet limited
};
Prefer prefer(const front::Head& head);

// 1 to 255 printable ASCII characters; the quoted form is accepted. nullopt: none was sent. kBadRequest:
// malformed.
base::Result<std::optional<std::string>> idempotency_key(const front::Head& head);

// The type in a Content-Type, in lower case, without parameters.
std::string media_type(std::string_view content_type);
// True if the Content-Type is application/json (or …+json), in UTF-8.
bool is_json_type(std::string_view content_type);
bool accepts_event_stream(const front::Head& head);

// Opaque page cursors. Their content may change.

inline constexpr int kPageDefault = 50;
inline constexpr int kPageMax = 200;

std::string job_cursor(const base::Uuid& before);
std::optional<base::Uuid> job_cursor_of(std::string_view text);
std::string event_cursor(std::int64_t after_version);
std::optional<std::int64_t> event_cursor_of(std::string_view text);

}  // namespace millrace::api
