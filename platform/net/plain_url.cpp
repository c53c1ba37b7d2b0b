#include "platform/net/plain_url.h"

#include <algorithm>
#include <charconv>

namespace millrace::net {
namespace {

constexpr std::string_view kHttp = "http://";

bool is_host_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
         c == '_';
}

bool is_v6_letter(char c) {
  return (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || (c >= '0' && c <= '9') || c == ':' || c == '.';
}

// Seen characters only; '#' begins what is not sent.
bool is_target_letter(char c) { return c > ' ' && c < '\x7f' && c != '#'; }

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
  if (out.host.empty() || !std::ranges::all_of(out.host, is_v6 ? is_v6_letter : is_host_letter))
    return std::nullopt;
  if (!rest.empty()) {
    const auto port = rest.front() == ':' ? port_of(rest.substr(1)) : std::nullopt;
    if (!port) return std::nullopt;
    out.port = *port;
  }
  if (!std::ranges::all_of(out.target, is_target_letter)) return std::nullopt;
  return out;
}

}  // namespace millrace::net
