#include "ai/providers/upstream_status.h"

#include <algorithm>
#include <array>

#include "ai/providers/json_access.h"

namespace millrace::providers {
namespace {

// Of OpenAI's protocol and its relatives, of Anthropic's, of Google's.
constexpr std::array<std::string_view, 8> kWrongKey{
    "invalid_api_key", "invalid_authentication", "authentication_error", "account_deactivated",
    "UNAUTHENTICATED", "API_KEY_INVALID",        "API_KEY_EXPIRED",      "ACCESS_TOKEN_EXPIRED"};
constexpr std::array<std::string_view, 6> kForbiddenWords{
    "permission_error",        "permission_denied",          "PERMISSION_DENIED",
    "API_KEY_SERVICE_BLOCKED", "API_KEY_IP_ADDRESS_BLOCKED", "API_KEY_HTTP_REFERRER_BLOCKED"};

template <std::size_t kCount>
bool is_among(const std::array<std::string_view, kCount>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// The object that holds the fields: `error`, of the first if there are several, or the body itself.
const Json* error_in(const Json& body) {
  const Json& first = body.is_array() && !body.empty() ? body.front() : body;
  const Json* error = member(first, "error");
  return error != nullptr && error->is_object() ? error : &first;
}

int status_of(std::string_view word) {
  if (is_among(kWrongKey, word)) return 401;
  return is_among(kForbiddenWords, word) ? 403 : 0;
}

int status_of_reasons(const Json* details) {
  if (details == nullptr || !details->is_array()) return 0;
  for (const Json& one : *details) {
    if (const int status = status_of(text_of(one, "reason")); status != 0) return status;
  }
  return 0;
}

}  // namespace

int meant_status(int http_status, std::string_view body) {
  if (http_status < 400 || http_status > 499) return http_status;
  const std::optional<Json> read = parse_wire(body);
  if (!read) return http_status;
  const Json& error = *error_in(*read);
  if (const int status = status_of_reasons(member(error, "details")); status != 0) return status;
  for (const std::string_view field : {"code", "type", "status"}) {
    if (const int status = status_of(text_of(error, field)); status != 0) return status;
  }
  return http_status;
}

}  // namespace millrace::providers
