#include "ai/providers/upstream_error.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <ctime>
#include <optional>

#include <strings.h>

#include "ai/providers/wire_text.h"
#include "platform/base/bytes.h"
#include "schemas/json/url_text.h"

namespace millrace::providers {
namespace {

constexpr std::size_t kKeyTailMin = 6;     // with this many characters after a prefix, a text counts as a key
constexpr std::size_t kRandomRunMin = 24;  // a run of this many letters and digits counts as a secret
constexpr std::string_view kMask = "***";

// Prefixes of keys.
constexpr std::array<std::string_view, 13> kKeyPrefixes{
    "sk-", "sk_", "xai-", "gsk_", "AIza", "pk-", "key-", "nvapi-", "pplx-", "hf_", "r8_", "aoai-", "Bearer "};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }
bool is_key_character(char c) {
  return is_word(c) || c == '-' || c == '_' || c == '*' || c == '.' || c == '+' || c == '/' || c == '=';
}

std::size_t run_of(std::string_view text, bool (*belongs)(char)) {
  return static_cast<std::size_t>(std::ranges::find_if_not(text, belongs) - text.begin());
}

// Length of the key that `text` begins with; 0: none.
std::size_t key_at(std::string_view text) {
  for (const std::string_view prefix : kKeyPrefixes) {
    if (!text.starts_with(prefix)) continue;
    const std::size_t tail = run_of(text.substr(prefix.size()), is_key_character);
    if (tail >= kKeyTailMin) return prefix.size() + tail;
  }
  const std::string_view run = text.substr(0, run_of(text, is_word));
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const bool mixed = std::ranges::any_of(run, is_digit) && !std::ranges::all_of(run, is_digit);
  return run.size() >= kRandomRunMin && mixed ? run.size() : 0;
}

}  // namespace

std::string upstream_text(std::string_view sent) {
  const std::string shown = schemas::mask_url_queries(cut_text(sent, 4 * kUpstreamTextMax));
  std::string_view text = shown;
  std::string out;
  bool in_word = false;
  while (!text.empty()) {
    if (const std::size_t key = in_word ? 0 : key_at(text); key > 0) {
      out.append(kMask);
      text.remove_prefix(key);
      continue;
    }
    const char c = text.front();
    const bool is_control = static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    if (!is_control) {
      out.push_back(c);
    } else if (!out.empty() && out.back() != ' ') {
      out.push_back(' ');
    }
    in_word = is_word(c);
    text.remove_prefix(1);
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return std::string(cut_text(out, kUpstreamTextMax));
}

namespace {

// Error names of OpenAI-compatible protocols, of Anthropic and of Google.
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

// The object with the fields: `error` (of the first element, if the body is a list), or the body itself.
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

// What a status means that a provider explains only in words, or by a field of its own; 0: what it says.
int status_of_words(int status, const Json& error) {
  std::string_view words = text_of(error, "message");
  if (words.empty()) words = text_of(error, "error");
  const std::string_view code = text_of(error, "code");
  if (status == 400 && words.starts_with("Your credit balance is too low")) return 402;  // Anthropic
  if (status == 400 && words.starts_with("User location is not supported")) return 451;  // Gemini
  if (status == 400 && code == "Client specified an invalid argument" &&                 // xAI
      words.starts_with("Incorrect API key provided"))
    return 401;
  if (status == 413 && code == "rate_limit_exceeded") return 429;                            // Groq
  if (status == 403 && member(member(error, "metadata"), "reasons") != nullptr) return 400;  // OpenRouter
  return 0;
}

// True if the model has failed to write a call or an answer in the format, as Groq reports it.
bool is_failed_generation(std::string_view code) {
  return code == "tool_use_failed" || code == "json_validate_failed";
}

// A cause counts only if its HTTP status equals `status`: an exhausted quota, for example, is not a bad
// request.
std::optional<base::Code> cause_in(const Json& node, int status) {
  static constexpr std::array kKnown{base::Code::kContextLength, base::Code::kContentPolicy,
                                     base::Code::kContentFilter, base::Code::kQuota};
  for (const std::string_view field : {"code", "type"}) {
    const std::string_view word = text_of(node, field);
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

void set_error_cause(const Target& target, base::Error& error, const Json& node) {
  if (error.code == base::Code::kBadRequest && is_failed_generation(text_of(node, "code"))) {
    error.code = base::Code::kUpstream;
    error.is_content_fault = true;
    return;
  }
  // More tokens than its account may send in a minute: it never takes this request.
  if (error.code == base::Code::kRateLimited && text_of(node, "message").starts_with("Request too large for"))
    error.is_permanent = true;
  const int status = base::info(error.code).http_status;
  if (const auto cause = cause_in(node, status)) error.code = *cause;
  if (error.code == base::Code::kQuota) error.is_permanent = true;
  const std::string_view field = text_of(node, "param");
  if (status == 400 && error.param.empty() && is_field(field) && masked(target, field) == field)
    error.param = field;
}

void set_error_cause(const Target& target, base::Error& error, std::string_view body) {
  const std::optional<Json> read = parse_wire(body);
  if (read) set_error_cause(target, error, *error_in(*read));
}

int effective_status(int http_status, std::string_view body) {
  if (http_status < 400 || http_status > 499) return http_status;
  const std::optional<Json> read = parse_wire(body);
  if (!read) return http_status;
  const Json& error = *error_in(*read);
  if (const int status = status_of_reasons(member(error, "details")); status != 0) return status;
  for (const std::string_view field : {"code", "type", "status"}) {
    if (const int status = status_of(text_of(error, field)); status != 0) return status;
  }
  const int status = status_of_words(http_status, error);
  return status != 0 ? status : http_status;
}

namespace {

using base::Code;
using std::chrono::milliseconds;
using Headers = std::vector<std::pair<std::string, std::string>>;

constexpr milliseconds kRetryAfterMax{3'600'000};
constexpr std::size_t kHeaderSecretMin = 6;  // bytes; shorter header values are not treated as secrets

Code code_of(int status) {
  switch (status) {
    case 400:
    case 422:
      return Code::kBadRequest;
    case 404:
      return Code::kModelNotFound;
    case 408:
    case 504:
      return Code::kUpstreamTimeout;
    case 413:
      return Code::kTooLarge;
    case 429:
      return Code::kRateLimited;
    case 498:  // Groq's
    case 503:
    case 529:
      return Code::kOverloaded;
    default:
      return Code::kUpstream;
  }
}

std::string_view value_of(const Headers& headers, std::string_view lower_case_name) {
  for (const auto& [name, value] : headers) {
    if (name == lower_case_name) return value;
  }
  return {};
}

bool is_amount(double value) { return std::isfinite(value) && value >= 0; }

std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !is_amount(value)) return std::nullopt;
  return value;
}

milliseconds bounded(double ms) {
  if (!(ms > 0)) return milliseconds(0);
  return milliseconds(static_cast<std::int64_t>(std::min(std::ceil(ms), 1.0 * kRetryAfterMax.count())));
}

// Time until an HTTP date; 0: it is invalid or has passed.
milliseconds until_date(std::string_view text) {
  std::tm date{};
  const char* end = strptime(std::string(text).c_str(), "%a, %d %b %Y %H:%M:%S GMT", &date);
  if (end == nullptr) return milliseconds(0);
  const double seconds = std::difftime(timegm(&date), std::time(nullptr));
  return bounded(std::max(seconds, 0.0) * 1'000);
}

// "1.5s", "250ms", "6m0s", "7 seconds" at the beginning of `text`.
milliseconds duration_at(std::string_view text) {
  double ms = 0;
  while (!text.empty()) {
    double amount = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), amount);
    if (error != std::errc{} || !is_amount(amount)) break;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.starts_with(' ')) text.remove_prefix(1);
    const std::size_t unit = text.starts_with("ms") || text.starts_with("milliseconds") ? 2 : 1;
    if (unit == 2) {
      ms += amount;
    } else if (text.starts_with('s')) {
      ms += amount * 1'000;
    } else if (text.starts_with('m')) {
      ms += amount * 60'000;
    } else if (text.starts_with('h')) {
      ms += amount * 3'600'000;
    } else {
      break;
    }
    text.remove_prefix(unit);
  }
  return bounded(ms);
}

milliseconds reported_in(std::string_view body) {
  for (const std::string_view before :
       {"\"retryDelay\": \"", "\"retryDelay\":\"", "try again in ", "retry after "}) {
    const std::size_t at = body.find(before);
    if (at != std::string_view::npos) return duration_at(body.substr(at + before.size()));
  }
  return milliseconds(0);
}

milliseconds retry_after(const Headers& headers, std::string_view body) {
  if (const auto ms = number(value_of(headers, "retry-after-ms"))) return bounded(*ms);
  const std::string_view after = value_of(headers, "retry-after");
  if (const auto seconds = number(after)) return bounded(*seconds * 1'000);
  if (!after.empty()) return until_date(after);
  return reported_in(body);
}

std::string without(std::string text, std::string_view secret) {
  if (secret.empty()) return text;
  for (std::size_t at = text.find(secret); at != std::string::npos; at = text.find(secret, at)) {
    text.replace(at, secret.size(), "***");
    at += 3;
  }
  return text;
}

// Error details that distinguish rejected keys and refused requests from other errors.
std::string status_detail(int status) { return R"({"upstream_status":)" + std::to_string(status) + "}"; }
constexpr std::string_view kBadKey = R"({"upstream_status":401})";

// 402 and 407 concern the operator's account or proxy, whatever the request is.
bool is_of_the_request(int status) { return status != 402 && status != 407; }
// True if the error may go away. 499: the upstream cancelled the call.
bool may_pass(int status) { return status == 409 || status == 425 || status == 499; }

// Phrases of Anthropic, Gemini, and OpenAI-compatible servers that send no error code.
bool is_too_long_for_the_model(std::string_view words) {
  constexpr std::array<std::string_view, 12> kPhrases{"prompt is too long",
                                                      "maximum context length",
                                                      "available context size",
                                                      "maximum prompt length",
                                                      "exceed context limit",
                                                      "longer than the model's context length",
                                                      "model's context length is only",
                                                      "longer than the maximum model length",
                                                      "Input is too long for requested model",
                                                      "`max_new_tokens` must be <=",
                                                      "too many tokens: total number of tokens",
                                                      "reduce the length of the messages"};
  const auto contains = [&](std::string_view part) { return words.find(part) != std::string_view::npos; };
  return std::ranges::any_of(kPhrases, contains) || (contains("input token count") && contains("exceeds"));
}

}  // namespace

std::string masked(const Target& target, std::string_view words) {
  std::string text = without(std::string(words), target.key.reveal());
  for (const auto& [name, whole] : target.headers) {
    const std::string_view value = whole;
    if (value.size() < kHeaderSecretMin) continue;
    text = without(std::move(text), value);
    if (::strcasecmp(name.c_str(), "authorization") == 0)
      text = without(std::move(text), value.substr(value.rfind(' ') + 1));
  }
  return text;
}

bool is_bad_key(const base::Error& error) { return error.details == kBadKey; }
bool is_refusal(const base::Error& error) {
  return error.code == Code::kUpstream && error.details.starts_with(R"({"upstream_status":)") &&
         !is_bad_key(error);
}

base::Error reported_error(const Target& target, int status, std::string_view words, int meant) {
  if (meant == 0) meant = status;
  std::string message(shown_name(target));
  message.append(" answered ").append(std::to_string(status));
  if (meant == 401 || meant == 403) message.append(" (with the operator's key)");
  if (!words.empty()) message.append(": ").append(masked(target, words));
  base::Error error = base::error(code_of(meant), std::move(message));
  if (error.code == Code::kModelNotFound) error.param = "model";
  if (error.code == Code::kBadRequest && is_too_long_for_the_model(words)) error.code = Code::kContextLength;
  const bool refused = error.code == Code::kUpstream && ((meant >= 400 && meant < 500) || meant == 501);
  if (refused && is_of_the_request(meant)) error.details = status_detail(meant);
  error.is_permanent = refused && !may_pass(meant);
  return error;
}

base::Error stream_error(const Target& target, int status, std::string_view words) {
  if (status >= 400 && status <= 599) return reported_error(target, status, words);
  std::string message(shown_name(target));
  message.append(" failed during its answer");
  if (!words.empty()) message.append(": ").append(masked(target, words));
  return base::error(Code::kUpstream, std::move(message));
}

base::Error failed_answer(const Target& target, std::string_view reason) {
  base::Error error = stream_error(target, 0, upstream_text(reason));
  error.is_content_fault = true;
  return error;
}

base::Error upstream_error(const Target& target, int status, const Headers& headers, std::string_view body) {
  const std::string words = translation(target.preset->family).error_message(body);
  base::Error error = reported_error(target, status, words, effective_status(status, body));
  if (error.code == Code::kRateLimited || error.code == Code::kOverloaded)
    error.retry_after = retry_after(headers, body);
  if (status == 403 && error.code == Code::kBadRequest) error.code = Code::kContentPolicy;
  set_error_cause(target, error, body);
  error.is_free = true;
  return error;
}

}  // namespace millrace::providers
