#include "platform/net/http/plain_url.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace millrace::net {
namespace {

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
