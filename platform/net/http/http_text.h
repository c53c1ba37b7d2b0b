#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "platform/base/result.h"

// Texts of HTTP: error messages and header fields for both transports, and URLs of plain HTTP. For the
// sources of this module.
namespace millrace::net {

std::string lower_case(std::string_view text);
std::string_view trimmed(std::string_view text);  // removes white space at both ends
// case-insensitive; `low` must be in lower case
bool is_same_word(std::string_view text, std::string_view low);

// kUpstreamTimeout: "<what> (time-out <name>: <bound> ms)".
base::Error timed_out(std::string what, std::string_view name, std::chrono::milliseconds bound);
// kTooLarge.
base::Error reply_too_large(std::size_t bytes_max);
// kUpstream.
base::Error request_failed(std::string_view why);

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
