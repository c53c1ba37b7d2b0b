#include "platform/base/net_address.h"

#include <algorithm>
#include <charconv>

#include <arpa/inet.h>

namespace millrace::base {
namespace {

constexpr std::string_view kHostCharacters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
constexpr std::string_view kV6Characters = "0123456789abcdefABCDEF:.";

Error wrong(std::string_view text, std::string_view why) {
  return error(Code::kInvalidField, "\"" + std::string(text) + "\" is not HOST:PORT: " + std::string(why));
}

bool consists_of(std::string_view host, std::string_view characters) {
  return !host.empty() && host.find_first_not_of(characters) == std::string_view::npos;
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
  std::uint16_t port = 0;
  const char* last = text.data() + text.size();
  const auto [end, problem] = std::from_chars(text.data(), last, port);
  if (text.empty() || problem != std::errc() || end != last) return std::nullopt;
  return port;
}

}  // namespace

std::string NetAddress::str() const {
  const bool v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

Result<NetAddress> parse_net_address(std::string_view text, std::optional<std::uint16_t> default_port) {
  const bool bracketed = text.starts_with('[');
  const std::size_t bracket = bracketed ? text.find(']') : std::string_view::npos;
  if (bracketed && bracket == std::string_view::npos) return wrong(text, "the bracket is not closed");
  if (!bracketed && std::count(text.begin(), text.end(), ':') > 1) {
    return wrong(text, "an IPv6 address must be in brackets, as in [::1]:8080");
  }
  const std::string_view host = bracketed ? text.substr(1, bracket - 1) : text.substr(0, text.find(':'));
  const std::string_view rest = text.substr(host.size() + (bracketed ? 2 : 0));
  if (!consists_of(host, bracketed ? kV6Characters : kHostCharacters))
    return wrong(text, "the host is missing or malformed");
  if (rest.empty()) {
    if (!default_port) return wrong(text, "the port is missing");
    return NetAddress{std::string(host), *default_port};
  }
  const auto port = rest.front() == ':' ? parse_port(rest.substr(1)) : std::nullopt;
  if (!port) return wrong(text, "the port must be a number from 0 to 65535");
  return NetAddress{std::string(host), *port};
}

bool is_host(std::string_view text) {
  const bool v6 = std::count(text.begin(), text.end(), ':') > 1;
  return !text.starts_with('-') && consists_of(text, v6 ? kV6Characters : kHostCharacters);
}

bool is_loopback(const std::string& host) {
  if (host == "localhost") return true;
  in_addr v4{};
  if (::inet_pton(AF_INET, host.c_str(), &v4) == 1) return ntohl(v4.s_addr) >> 24 == 127;
  in6_addr v6{};
  return ::inet_pton(AF_INET6, host.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

}  // namespace millrace::base
