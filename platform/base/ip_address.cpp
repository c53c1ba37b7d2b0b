#include "platform/base/ip_address.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include <arpa/inet.h>

namespace millrace::base {
namespace {

constexpr int kBits = 128;
constexpr int kMappedBits = 96;  // of the prefix ::ffff:0:0/96
constexpr int kClientBits6 = 64;
constexpr std::array<std::uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

// Clears the bits behind the first `bits`.
IpAddress masked(IpAddress address, int bits) {
  for (int i = 0; i < kBits / 8; ++i) {
    const int kept = std::clamp(bits - i * 8, 0, 8);
    address.bytes[static_cast<std::size_t>(i)] &= static_cast<std::uint8_t>(0xff00 >> kept);
  }
  return address;
}

}  // namespace

std::optional<IpAddress> IpAddress::parse(std::string_view text) {
  std::array<char, INET6_ADDRSTRLEN> copy{};  // inet_pton needs the terminating zero
  if (text.empty() || text.size() >= copy.size() || text.find('\0') != std::string_view::npos)
    return std::nullopt;
  std::memcpy(copy.data(), text.data(), text.size());
  IpAddress out;
  if (text.find(':') != std::string_view::npos) {
    if (::inet_pton(AF_INET6, copy.data(), out.bytes.data()) != 1) return std::nullopt;
    return out;
  }
  std::copy(kMapped.begin(), kMapped.end(), out.bytes.begin());
  if (::inet_pton(AF_INET, copy.data(), out.bytes.data() + kMapped.size()) != 1) return std::nullopt;
  return out;
}

bool IpAddress::is_v4() const { return std::equal(kMapped.begin(), kMapped.end(), bytes.begin()); }

std::string IpAddress::str() const {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const std::uint8_t* const from = is_v4() ? bytes.data() + kMapped.size() : bytes.data();
  ::inet_ntop(is_v4() ? AF_INET : AF_INET6, from, text.data(), text.size());
  return text.data();
}

std::optional<IpRange> IpRange::parse(std::string_view text) {
  const std::size_t slash = text.find('/');
  const auto address = IpAddress::parse(text.substr(0, slash));
  if (!address) return std::nullopt;
  const int prefix = address->is_v4() && text.find(':') == std::string_view::npos ? kMappedBits : 0;
  if (slash == std::string_view::npos) return IpRange(*address, kBits);
  const std::string_view digits = text.substr(slash + 1);
  int bits = 0;
  const char* const last = digits.data() + digits.size();
  const auto [end, failed] = std::from_chars(digits.data(), last, bits);
  if (failed != std::errc() || end != last || bits < 0 || bits > kBits - prefix) return std::nullopt;
  if (masked(*address, prefix + bits) != *address) return std::nullopt;
  return IpRange(*address, prefix + bits);
}

IpRange IpRange::of_client(const IpAddress& address) {
  const int bits = address.is_v4() ? kBits : kClientBits6;
  return {masked(address, bits), bits};
}

bool IpRange::contains(const IpAddress& address) const { return masked(address, bits_) == network_; }

std::string IpRange::str() const {
  if (bits_ == kBits) return network_.str();
  const int bits = network_.is_v4() && bits_ >= kMappedBits ? bits_ - kMappedBits : bits_;
  return network_.str() + "/" + std::to_string(bits);
}

std::string client_of(std::string_view address) {
  const auto parsed = IpAddress::parse(address);
  return parsed ? IpRange::of_client(*parsed).str() : std::string(address);
}

bool contains(const std::vector<IpRange>& ranges, const IpAddress& address) {
  return std::ranges::any_of(ranges, [&](const IpRange& range) { return range.contains(address); });
}

}  // namespace millrace::base
