#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "platform/base/result.h"

namespace millrace::base {

// An IP address of either family. IPv4 is stored as IPv4-mapped IPv6, so that ::ffff:10.0.0.1 is 10.0.0.1.
using IpBytes = std::array<std::uint8_t, 16>;
// nullopt: not an address. A zone id is ignored: fe80::1%eth0.
std::optional<IpBytes> parse_ip(std::string_view text);

// A range of IP addresses: "10.0.0.0/8", "2001:db8::/32", or one address.
class IpRange {
 public:
  // kInvalidField: the message says what is wrong.
  static Result<IpRange> parse(std::string_view text);

  bool contains(const IpBytes& address) const;
  bool contains(std::string_view address) const;  // false if the text is not an address
  bool contains(const IpRange& other) const { return other.bits_ >= bits_ && contains(other.network_); }

 private:
  IpRange(const IpBytes& network, int bits) : network_(network), bits_(bits) {}
  IpBytes network_;
  int bits_;  // of all 128
};

}  // namespace millrace::base
