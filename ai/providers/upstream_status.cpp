#include "ai/providers/upstream_status.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "ai/providers/upstream_words.h"

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

// By the word's own status: a quota that is used up is no wrong request.
std::optional<base::Code> cause_in(const Json& said, int status) {
  static constexpr std::array kKnown{base::Code::kContextLength, base::Code::kContentPolicy,
                                     base::Code::kContentFilter, base::Code::kQuota};
  for (const std::string_view field : {"code", "type"}) {
    const std::string_view word = text_of(said, field);
    const auto* found = std::find_if(kKnown.begin(), kKnown.end(), [&](base::Code each) {
      return base::name(each) == word && base::info(each).http_status == status;
    });
    if (found != kKnown.end()) return *found;
  }
  return std::nullopt;
}

// "messages", "messages[1].content", "tools.0.function".
bool is_field(std::string_view name) {
  constexpr std::size_t kFieldMax = 128;
  const auto belongs = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '[' || c == ']';
  };
  return !name.empty() && name.size() <= kFieldMax && std::all_of(name.begin(), name.end(), belongs);
}

}  // namespace

void name_cause(const Target& target, base::Error& error, const Json& said) {
  const int status = base::info(error.code).http_status;
  if (const auto cause = cause_in(said, status)) error.code = *cause;
  if (error.code == base::Code::kQuota) error.lasting = true;
  const std::string_view field = text_of(said, "param");
  if (status == 400 && error.param.empty() && is_field(field) && masked(target, field) == field)
    error.param = field;
}

void name_cause(const Target& target, base::Error& error, std::string_view body) {
  const std::optional<Json> read = parse_wire(body);
  if (read) name_cause(target, error, *error_in(*read));
}

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
