#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace millrace::net {

// A parsed http URL; the parts point into the URL.
struct PlainUrl {
  std::string_view authority;  // as written: HOST or HOST:PORT
  std::string_view host;       // IPv6 without brackets
  std::uint16_t port = 80;
  std::string_view target;  // path and query; may be empty or begin with '?'
};

// nullopt: another scheme, or a form that curl handles (credentials, fragments, zones, characters that need
// encoding).
std::optional<PlainUrl> plain_url(std::string_view url);

}  // namespace millrace::net
