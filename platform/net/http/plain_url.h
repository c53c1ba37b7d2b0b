#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace millrace::net {

// An http URL taken apart; the parts lie in the URL.
struct PlainUrl {
  std::string_view authority;  // as written: HOST or HOST:PORT
  std::string_view host;       // IPv6 without its brackets
  std::uint16_t port = 80;
  std::string_view target;  // path and query; may be empty or begin with '?'
};

// nullopt: another scheme, or a form that is left to curl (credentials, fragments, zones, letters that would
// have to be encoded). Pure.
std::optional<PlainUrl> plain_url(std::string_view url);

}  // namespace millrace::net
