#include "platform/base/ip_range.h"

#include <algorithm>
#include <charconv>

#include <arpa/inet.h>

namespace millrace::base {
namespace {

constexpr int kBits = 128;
constexpr int kMappedBits = 96;  // before an IPv4 address

Error not_a_range(std::string_view text) {
  return error(Code::kInvalidField, "'" + std::string(text) +
                                        "' is not an address or a range such as 10.0.0.0/8 or 2001:db8::/32");
}

// The bytes with all bits from `bits` on cleared.
IpBytes masked(IpBytes bytes, int bits) {
  for (int i = 0; i < static_cast<int>(bytes.size()); ++i) {
    const int kept = std::clamp(bits - i * 8, 0, 8);
    bytes[static_cast<std::size_t>(i)] &= static_cast<std::uint8_t>(0xFF00 >> kept);
  }
  return bytes;
}

}  // namespace

std::optional<IpBytes> parse_ip(std::string_view text) {
  const std::string plain(text.substr(0, text.find('%')));
  IpBytes out{};
  if (::inet_pton(AF_INET6, plain.c_str(), out.data()) == 1) return out;
  out = {};
  out[10] = out[11] = 0xFF;
  if (::inet_pton(AF_INET, plain.c_str(), &out[12]) == 1) return out;
  return std::nullopt;
}

Result<IpRange> IpRange::parse(std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::string_view address = text.substr(0, slash);
  const auto network = parse_ip(address);
  if (!network || address.find('%') != std::string_view::npos) return not_a_range(text);
  const int before = address.find(':') == std::string_view::npos ? kMappedBits : 0;
  int bits = kBits - before;
  if (slash != std::string_view::npos) {
    const std::string_view digits = text.substr(slash + 1);
    const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), bits);
    const bool is_number = !digits.empty() && failed == std::errc() && end == digits.data() + digits.size();
    if (!is_number || bits < 0 || bits > kBits - before) return not_a_range(text);
  }
  if (masked(*network, before + bits) != *network)
    return error(Code::kInvalidField, "'" + std::string(text) + "' has address bits beyond its length of " +
                                          std::to_string(bits) + " bits");
  return IpRange(*network, before + bits);
}

bool IpRange::contains(const IpBytes& address) const { return masked(address, bits_) == network_; }

bool IpRange::contains(std::string_view address) const {
  const auto bytes = parse_ip(address);
  return bytes && contains(*bytes);
}

}  // namespace millrace::base
