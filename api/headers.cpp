#include "api/headers.h"

#include <algorithm>
#include <charconv>

#include "platform/base/crypto.h"
#include "platform/base/ids.h"

namespace millrace::api {
namespace {

constexpr std::size_t kRequestIdMax = 128;
constexpr std::size_t kIdempotencyKeyMax = 255;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string lowered(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), lower);
  return out;
}

bool is_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '_' ||
         c == '-';
}

bool lower_hex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}
bool zero(std::string_view text) { return text.find_first_not_of('0') == std::string_view::npos; }

// Calls `f` with each trimmed element of a comma-separated list.
template <class F>
void each_element(std::string_view list, F&& f) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find_first_of(",;"), list.size());
    const std::string_view element = trimmed(list.substr(0, end));
    if (!element.empty()) f(element);
    list.remove_prefix(std::min(end + 1, list.size()));
  }
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::string request_id(const front::Head& head) {
  const std::string_view sent = head.header("x-request-id").value_or("");
  const bool good =
      !sent.empty() && sent.size() <= kRequestIdMax && std::all_of(sent.begin(), sent.end(), is_word);
  if (good) return std::string(sent);
  return base::hex(base::random_bytes(16));
}

std::string traceparent(const front::Head& head) {
  const std::string_view sent = trimmed(head.header("traceparent").value_or(""));
  constexpr std::size_t kSize = 55;
  if (sent.size() != kSize || !sent.starts_with("00-") || sent[35] != '-' || sent[52] != '-') return {};
  const std::string_view trace = sent.substr(3, 32), span = sent.substr(36, 16), flags = sent.substr(53);
  if (!lower_hex(trace) || !lower_hex(span) || !lower_hex(flags) || zero(trace) || zero(span)) return {};
  return std::string(sent);
}

Prefer prefer(const front::Head& head) {
  Prefer out;
  constexpr std::string_view kAsync = "respond-async";
  each_element(head.header("prefer").value_or(""), [&](std::string_view element) {
    if (element == kAsync) return void(out.respond_async = true);
    const std::string text = lowered(element);
    if (text == kAsync) out.respond_async = true;
    constexpr std::string_view kWait = "wait=";
    if (!text.starts_with(kWait)) return;
    constexpr std::int64_t kWaitMax = 86'400;  // far above the longest wait that is granted
    std::int64_t seconds = 0;
    const char* end = text.data() + text.size();
    const auto [at, failed] = std::from_chars(text.data() + kWait.size(), end, seconds);
    if (failed == std::errc() && at == end && seconds >= 0)
      out.wait = std::chrono::seconds(std::min(seconds, kWaitMax));
  });
  return out;
}

base::Result<std::optional<std::string>> idempotency_key(const front::Head& head) {
  const auto sent = head.header("idempotency-key");
  if (!sent) return std::optional<std::string>();
  std::string_view key = trimmed(*sent);
  if (key.size() >= 2 && key.front() == '"' && key.back() == '"') key = key.substr(1, key.size() - 2);
  const bool printable = std::all_of(key.begin(), key.end(), [](char c) { return c >= 0x20 && c <= 0x7e; });
  if (key.empty() || key.size() > kIdempotencyKeyMax || !printable) {
    return base::error(base::Code::kBadRequest, "Idempotency-Key must be 1 to 255 printable ASCII characters",
                       "Idempotency-Key");
  }
  return std::optional(std::string(key));
}

std::string media_type(std::string_view content_type) {
  return lowered(trimmed(content_type.substr(0, content_type.find(';'))));
}

bool is_json_type(std::string_view content_type) {
  if (content_type == "application/json") return true;
  const std::string type = media_type(content_type);
  const bool json =
      type == "application/json" || (type.starts_with("application/") && type.ends_with("+json"));
  if (!json) return false;
  const std::string rest = lowered(content_type);
  const std::size_t charset = rest.find("charset=");
  if (charset == std::string::npos) return true;
  std::string_view value = std::string_view(rest).substr(charset + 8);
  if (value.starts_with('"')) value.remove_prefix(1);
  return value.starts_with("utf-8") || value.starts_with("utf8");
}

bool accepts_event_stream(const front::Head& head) {
  bool found = false;
  each_element(head.header("accept").value_or(""),
               [&](std::string_view element) { found = found || lowered(element) == "text/event-stream"; });
  return found;
}

namespace {

constexpr std::string_view kJobMark = "j1_";
constexpr std::string_view kEventMark = "e1_";

}  // namespace

std::string job_cursor(const base::Uuid& before) { return std::string(kJobMark) + before.str(); }

std::optional<base::Uuid> job_cursor_of(std::string_view text) {
  if (!text.starts_with(kJobMark)) return std::nullopt;
  return base::Uuid::parse(text.substr(kJobMark.size()));
}

std::string event_cursor(std::int64_t after_version) {
  return std::string(kEventMark) + std::to_string(after_version);
}

std::optional<std::int64_t> event_cursor_of(std::string_view text) {
  if (!text.starts_with(kEventMark)) return std::nullopt;
  const std::string_view digits = text.substr(kEventMark.size());
  std::int64_t version = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), version);
  // Only the text that event_cursor writes.
  if (version < 0 || event_cursor(version) != text) return std::nullopt;
  return version;
}

}  // namespace millrace::api
