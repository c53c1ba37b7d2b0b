#include "platform/net/http/http_text.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace millrace::net {
namespace {

char low_char(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

constexpr std::string_view kHttp = "http://";

using UrlLetters = std::array<bool, 256>;

template <class Is>
constexpr UrlLetters url_letters(Is is) {
  UrlLetters all{};
  for (std::size_t byte = 0; byte < all.size(); ++byte) all[byte] = is(static_cast<char>(byte));
  return all;
}

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr UrlLetters kHostLetters = url_letters([](char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '.' || c == '-' || c == '_';
});
constexpr UrlLetters kV6Letters = url_letters([](char c) {
  return (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || is_digit(c) || c == ':' || c == '.';
});
// Printable characters only. The fragment after '#' is not sent.
constexpr UrlLetters kTargetLetters = url_letters([](char c) { return c > ' ' && c < '\x7f' && c != '#'; });

bool has_only(const UrlLetters& letters, std::string_view text) {
  return std::ranges::all_of(text, [&](char c) { return letters[static_cast<unsigned char>(c)]; });
}

std::optional<std::uint16_t> port_of(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc{} || end != text.data() + text.size() || port == 0) return std::nullopt;
  return port;
}

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

std::optional<PlainUrl> plain_url(std::string_view url) {
  if (!url.starts_with(kHttp)) return std::nullopt;
  url.remove_prefix(kHttp.size());
  PlainUrl out;
  out.authority = url.substr(0, url.find_first_of("/?#"));
  out.target = url.substr(out.authority.size());
  const bool is_v6 = out.authority.starts_with('[');
  const std::size_t host_end = is_v6 ? out.authority.find(']') : out.authority.find(':');
  out.host = out.authority.substr(0, host_end);
  std::string_view rest = out.authority.substr(out.host.size());
  if (is_v6) {
    if (rest.empty()) return std::nullopt;
    out.host.remove_prefix(1);
    rest.remove_prefix(1);
  }
  if (out.host.empty() || !has_only(is_v6 ? kV6Letters : kHostLetters, out.host)) return std::nullopt;
  if (!rest.empty()) {
    const auto port = rest.front() == ':' ? port_of(rest.substr(1)) : std::nullopt;
    if (!port) return std::nullopt;
    out.port = *port;
  }
  if (!has_only(kTargetLetters, out.target)) return std::nullopt;
  return out;
}

}  // namespace millrace::net
