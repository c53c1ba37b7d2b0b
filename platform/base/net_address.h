#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "platform/base/result.h"

namespace millrace::base {

// HOST:PORT as people write it; an IPv6 address is in brackets. The host is a name or an address and is not
// resolved.
struct NetAddress {
  std::string host;  // without brackets
  std::uint16_t port = 0;

  std::string str() const;
  friend bool operator==(const NetAddress&, const NetAddress&) = default;
};

// True for a name or an address without a port that cannot be mistaken for a command-line option. IPv6 has no
// brackets.
bool is_host(std::string_view text);

// True for a loopback address or "localhost". Other names are not resolved; for them the result is false.
bool is_loopback(const std::string& host);

// `default_port` is used if the port is missing. Without it, the port is required. The message of
// kInvalidField says what is wrong.
Result<NetAddress> parse_net_address(std::string_view text,
                                     std::optional<std::uint16_t> default_port = std::nullopt);

}  // namespace millrace::base
