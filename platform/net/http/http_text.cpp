#include "platform/net/http/http_text.h"

#include <algorithm>

namespace millrace::net {
namespace {

char low_char(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

}  // namespace

std::string lower_case(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), low_char);
  return out;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

bool is_same_word(std::string_view text, std::string_view low) {
  return std::ranges::equal(text, low, {}, low_char);
}

base::Error timed_out(std::string what, std::string_view name, std::chrono::milliseconds bound) {
  what.append(" (time-out ").append(name).append(": ").append(std::to_string(bound.count()));
  return base::error(base::Code::kUpstreamTimeout, what.append(" ms)"));
}

base::Error reply_too_large(std::size_t bytes_max) {
  return base::error(base::Code::kTooLarge,
                     "the reply is larger than " + std::to_string(bytes_max) + " bytes");
}

base::Error request_failed(std::string_view why) {
  return base::error(base::Code::kUpstream, std::string("request failed: ").append(why));
}

}  // namespace millrace::net
