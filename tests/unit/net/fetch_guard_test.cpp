#include "platform/net/fetch_guard.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include <arpa/inet.h>
#include <gtest/gtest.h>

namespace millrace::net {
namespace {

// The bytes of an IPv4 or IPv6 address.
using Address = std::vector<std::uint8_t>;

Address address_of(const std::string& text) {
  const bool six = text.find(':') != std::string::npos;
  Address bytes(six ? 16 : 4);
  EXPECT_EQ(1, inet_pton(six ? AF_INET6 : AF_INET, text.c_str(), bytes.data())) << text;
  return bytes;
}

std::string text_of(const Address& address) {
  char text[INET6_ADDRSTRLEN]{};
  inet_ntop(address.size() == 4 ? AF_INET : AF_INET6, address.data(), text, sizeof text);
  return text;
}

bool special(const Address& bytes) {
  sockaddr_storage address{};
  if (bytes.size() == 4) {
    auto& four = reinterpret_cast<sockaddr_in&>(address);
    four.sin_family = AF_INET;
    std::memcpy(&four.sin_addr, bytes.data(), bytes.size());
  } else {
    auto& six = reinterpret_cast<sockaddr_in6&>(address);
    six.sin6_family = AF_INET6;
    std::memcpy(&six.sin6_addr, bytes.data(), bytes.size());
  }
  return is_special_address(reinterpret_cast<const sockaddr&>(address));
}

bool special(const std::string& text) { return special(address_of(text)); }

// The next address, or the one before. nullopt: there is none.
std::optional<Address> next_to(Address address, bool up) {
  for (auto byte = address.rbegin(); byte != address.rend(); ++byte) {
    *byte = static_cast<std::uint8_t>(*byte + (up ? 1 : -1));
    if (*byte != (up ? 0 : 255)) return address;
  }
  return std::nullopt;
}

struct Range {
  Address first, last;

  explicit Range(const std::string& text) : first(address_of(text.substr(0, text.find('/')))), last(first) {
    const auto bits = static_cast<std::size_t>(std::stoi(text.substr(text.find('/') + 1)));
    for (std::size_t bit = bits; bit < last.size() * 8; ++bit) {
      last[bit / 8] = static_cast<std::uint8_t>(last[bit / 8] | 0x80 >> bit % 8);
    }
  }
  bool contains(const Address& address) const {
    return address.size() == first.size() && first <= address && address <= last;
  }
};

// The ranges of docs/design/security.md §2. No public address of IPv6 is outside 2000::/3.
std::vector<Range> special_ranges() {
  std::vector<Range> ranges;
  for (const char* text : {"0.0.0.0/8",
                           "10.0.0.0/8",
                           "100.64.0.0/10",
                           "127.0.0.0/8",
                           "169.254.0.0/16",
                           "172.16.0.0/12",
                           "192.0.0.0/24",
                           "192.0.2.0/24",
                           "192.31.196.0/24",
                           "192.52.193.0/24",
                           "192.88.99.0/24",
                           "192.168.0.0/16",
                           "192.175.48.0/24",
                           "198.18.0.0/15",
                           "198.51.100.0/24",
                           "203.0.113.0/24",
                           "224.0.0.0/4",
                           "240.0.0.0/4",
                           "::/3",
                           "4000::/2",
                           "8000::/1",
                           "2001::/23",
                           "2001:db8::/32",
                           "2002::/16",
                           "2620:4f:8000::/48",
                           "3fff::/20",
                           "64:ff9b::/96",
                           "64:ff9b:1::/48",
                           "::ffff:0:0/96",
                           "::ffff:0:0:0/96",
                           "100::/64",
                           "5f00::/16",
                           "fc00::/7",
                           "fe80::/10",
                           "fec0::/10",
                           "ff00::/8",
                           "2001:20::/28",
                           "2001:2::/48",
                           "2001::/32"}) {
    ranges.emplace_back(text);
  }
  return ranges;
}

TEST(FetchGuard, EverySpecialRangeIsRefusedFromItsFirstAddressToItsLast) {
  for (const Range& range : special_ranges()) {
    EXPECT_TRUE(special(range.first)) << text_of(range.first);
    EXPECT_TRUE(special(range.last)) << text_of(range.last);
  }
  for (const char* within : {"169.254.169.254", "::1", "::7f00:1", "::ffff:8.8.8.8", "64:ff9b::7f00:1"}) {
    EXPECT_TRUE(special(within)) << within;
  }
}

TEST(FetchGuard, AddressesNextToTheRangesAreAllowedUnlessTheyBelongToAnotherRange) {
  const std::vector<Range> ranges = special_ranges();
  for (const Range& range : ranges) {
    for (const auto& beside : {next_to(range.first, false), next_to(range.last, true)}) {
      if (!beside) continue;
      const bool in_another = std::any_of(ranges.begin(), ranges.end(),
                                          [&](const Range& other) { return other.contains(*beside); });
      EXPECT_EQ(special(*beside), in_another) << text_of(*beside);
    }
  }
  EXPECT_FALSE(special("2001:4860:4860::8888"));
  EXPECT_FALSE(special("2606:4700::1111"));
}

TEST(FetchGuard, OnlyHttpsOnWebPortsWithoutCredentialsMayBeFetched) {
  const FetchGuard guard({});
  EXPECT_TRUE(guard.check_url("https://example.com/a.pdf"));
  EXPECT_TRUE(guard.check_url("HTTPS://EXAMPLE.com:443/a.pdf#frag"));
  for (const char* url : {"http://example.com/a.pdf",
                          "ftp://example.com/a.pdf",
                          "file:///etc/passwd",
                          "gopher://example.com/",
                          "dict://example.com/",
                          "https://user@example.com/",
                          "https://user:pass@example.com/",
                          "https://example.com:8443/",
                          "https://example.com:22/",
                          "https://[fe80::1%25eth0]/",
                          "https://",
                          "https://printer.local/",
                          "https://metadata.google.internal/computeMetadata/v1/",
                          "https://vault.INTERNAL./",
                          "https://a.localhost/",
                          "//example.com/",
                          "example.com",
                          "",
                          "https://exa mple.com/",
                          "https://example.com:99999/"}) {
    const auto verdict = guard.check_url(url);
    ASSERT_FALSE(verdict) << url;
    EXPECT_EQ(base::Code::kFetchRefused, verdict.error().code) << url;
  }
}

TEST(FetchGuard, AnOpenedHostMayUseHttpItsPortAndPrivateAddressesAndNoOtherMay) {
  const FetchGuard guard({"files.local:9000", "127.0.0.1"});
  EXPECT_TRUE(guard.check_url("http://files.local:9000/a"));
  EXPECT_TRUE(guard.check_url("http://FILES.local:9000/a"));
  EXPECT_TRUE(guard.check_url("http://127.0.0.1/a"));
  EXPECT_FALSE(guard.check_url("http://files.local:9001/a"));
  EXPECT_FALSE(guard.check_url("http://127.0.0.1:8080/a"));
  EXPECT_FALSE(guard.check_url("http://other.local:9000/a"));

  sockaddr_in loopback{};
  loopback.sin_family = AF_INET;
  loopback.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const auto& address = reinterpret_cast<const sockaddr&>(loopback);
  EXPECT_TRUE(guard.check_address(*guard.check_url("http://127.0.0.1/a"), address));
  EXPECT_FALSE(guard.check_address(*guard.check_url("https://example.com/a"), address));
}

TEST(FetchGuard, AUrlThatAnotherServerFetchesNamesNoAddressThatIsNotPublicInAnyForm) {
  const FetchGuard guard({"files.local", "10.0.0.7:9000"});
  for (const char* url : {"https://127.0.0.1/a",
                          "https://127.0.0.1./a",
                          "https://127.0.0.1../a",
                          "https://127.1/a",
                          "https://127.0.1/a",
                          "https://2130706433/a",
                          "https://017700000001/a",
                          "https://0177.0.0.1/a",
                          "https://0x7f.0.0.1/a",
                          "https://0x7f000001/a",
                          "https://0X7F.1/a",
                          "https://0/a",
                          "https://0x/a",
                          "https://1.2.3.4.5/a",
                          "https://256.1.1.1/a",
                          "https://10.1.2.3/a",
                          "https://192.168.0.1/a",
                          "https://169.254.169.254/latest/meta-data",
                          "https://[::1]/a",
                          "https://[::ffff:127.0.0.1]/a",
                          "https://[64:ff9b::7f00:1]/a",
                          "https://[fd00::1]/a",
                          "https://[fe80::1%25eth0]/a",
                          "https://localhost/a",
                          "https://LOCALHOST./a",
                          "https://x.localhost/a",
                          "https://%6c%6f%63alhost/a",
                          "https://%31%32%37.0.0.1/a",
                          "https://１２７.0.0.1/a",
                          "https://bücher.example/a",
                          "http://example.com/a",
                          "https://u:p@example.com/a",
                          "https://example.com:8443/a",
                          "https://10.0.0.7/a"}) {
    const base::Status verdict = guard.check_foreign_url(url, "messages.0.content.0.image_url.url");
    ASSERT_FALSE(verdict) << url;
    EXPECT_EQ(base::Code::kFetchRefused, verdict.error().code) << url;
    EXPECT_EQ("messages.0.content.0.image_url.url", verdict.error().param) << url;
    EXPECT_TRUE(verdict.error().message.starts_with(verdict.error().param)) << verdict.error().message;
  }
  for (const char* url : {"https://example.com/a.png", "https://8.8.8.8/a", "https://[2606:4700::1111]/a",
                          "https://1e100.net/a", "https://a.b.c.d.e/a", "https://internal.example.com/a",
                          "https://thelocal.se/a", "http://files.local/a", "http://10.0.0.7:9000/a"}) {
    EXPECT_TRUE(guard.check_foreign_url(url, "image_url")) << url;
  }
}

}  // namespace
}  // namespace millrace::net
