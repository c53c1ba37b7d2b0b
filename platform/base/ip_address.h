#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::base {

// An IPv4 or IPv6 address. An IPv4 address and its IPv4-mapped form (::ffff:a.b.c.d) are the same value.
struct IpAddress {
  std::array<std::uint8_t, 16> bytes{};  // in network order; IPv4 as its mapped form

  // In the usual notation, without a port, a zone or brackets. nullopt: `text` is not an address.
  static std::optional<IpAddress> parse(std::string_view text);
  bool is_v4() const;
  std::string str() const;
  friend bool operator==(const IpAddress&, const IpAddress&) = default;
};

// The addresses that begin with the same bits: "10.0.0.0/8", "fd00::/8", or a single address.
class IpRange {
 public:
  // nullopt: `text` is neither ADDRESS nor ADDRESS/BITS, or it has bits set behind the prefix.
  static std::optional<IpRange> parse(std::string_view text);
  // The smallest usual unit of one client: the address of IPv4, the /64 network of IPv6.
  static IpRange of_client(const IpAddress& address);

  bool contains(const IpAddress& address) const;
  bool contains(const IpRange& other) const { return other.bits_ >= bits_ && contains(other.network_); }
  std::string str() const;

 private:
  IpRange(const IpAddress& network, int bits) : network_(network), bits_(bits) {}

  IpAddress network_;
  int bits_ = 0;  // of the 128
};

// The text of IpRange::of_client, as a key for what one client may take. `address` unchanged if it is none.
std::string client_of(std::string_view address);

// True if one of `ranges` contains the address.
bool contains(const std::vector<IpRange>& ranges, const IpAddress& address);

}  // namespace millrace::base
