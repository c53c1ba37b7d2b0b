#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "platform/base/result.h"

namespace millrace::base {

// HOST:PORT as people write it; a v6 address stands in brackets. The host is a name or an address, not
// resolved.
struct NetAddress {
  std::string host;  // without brackets
  std::uint16_t port = 0;

  std::string str() const;
  friend bool operator==(const NetAddress&, const NetAddress&) = default;
};

// A name or an address without a port, the v6 one without brackets, that cannot be taken for an option.
bool is_host(std::string_view text);

// A loopback address, or "localhost"; of any other name it is not known, which is a no.
bool is_loopback(const std::string& host);

// `default_port`: what stands for a missing port; without it the port is required. kInvalidField says what is
// wrong.
Result<NetAddress> parse_net_address(std::string_view text,
                                     std::optional<std::uint16_t> default_port = std::nullopt);

}  // namespace millrace::base
