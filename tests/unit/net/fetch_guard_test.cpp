#include "platform/net/fetch_guard.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

namespace millrace::net {
namespace {

bool special(const std::string& text) {
  sockaddr_storage address{};
  auto* v4 = reinterpret_cast<sockaddr_in*>(&address);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&address);
  if (inet_pton(AF_INET, text.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
  } else {
    EXPECT_EQ(1, inet_pton(AF_INET6, text.c_str(), &v6->sin6_addr)) << text;
    v6->sin6_family = AF_INET6;
  }
  return is_special_address(reinterpret_cast<const sockaddr&>(address));
}

// A range of docs/design/security.md §2 and the addresses next to it. Empty: there is none, or it belongs to
// another range.
struct Range {
  const char *first, *last, *before, *after;
};
constexpr Range kRanges[] = {
    {"0.0.0.0", "0.255.255.255", "", "1.0.0.0"},
    {"10.0.0.0", "10.255.255.255", "9.255.255.255", "11.0.0.0"},
    {"100.64.0.0", "100.127.255.255", "100.63.255.255", "100.128.0.0"},
    {"127.0.0.0", "127.255.255.255", "126.255.255.255", "128.0.0.0"},
    {"169.254.0.0", "169.254.255.255", "169.253.255.255", "169.255.0.0"},
    {"172.16.0.0", "172.31.255.255", "172.15.255.255", "172.32.0.0"},
    {"192.0.0.0", "192.0.0.255", "191.255.255.255", "192.0.1.0"},
    {"192.0.2.0", "192.0.2.255", "192.0.1.255", "192.0.3.0"},
    {"192.88.99.0", "192.88.99.255", "192.88.98.255", "192.88.100.0"},
    {"192.168.0.0", "192.168.255.255", "192.167.255.255", "192.169.0.0"},
    {"198.18.0.0", "198.19.255.255", "198.17.255.255", "198.20.0.0"},
    {"198.51.100.0", "198.51.100.255", "198.51.99.255", "198.51.101.0"},
    {"203.0.113.0", "203.0.113.255", "203.0.112.255", "203.0.114.0"},
    {"224.0.0.0", "239.255.255.255", "223.255.255.255", ""},
    {"240.0.0.0", "255.255.255.255", "", ""},
    {"::", "::ffff:ffff", "", "::1:0:0"},
    {"::ffff:0.0.0.0", "::ffff:255.255.255.255", "::fffe:ffff:ffff", "::1:0:0:0"},
    {"::ffff:0:0:0", "::ffff:0:ffff:ffff", "::fffe:ffff:ffff:ffff", "::ffff:1:0:0"},
    {"64:ff9b::", "64:ff9b::ffff:ffff", "64:ff9a:ffff:ffff:ffff:ffff:ffff:ffff", "64:ff9b::1:0:0"},
    {"64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff", "64:ff9b:0:ffff:ffff:ffff:ffff:ffff",
     "64:ff9b:2::"},
    {"100::", "100::ffff:ffff:ffff:ffff", "ff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "100:0:0:1::"},
    {"2001::", "2001:0:ffff:ffff:ffff:ffff:ffff:ffff", "2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2001:1::"},
    {"2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff",
     "2001:db9::"},
    {"2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
     "2003::"},
    {"fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "fbff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
     "fe00::"},
    {"fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "fe7f:ffff:ffff:ffff:ffff:ffff:ffff:ffff", ""},
    {"fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "", ""},
    {"ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "", ""},
};

TEST(FetchGuard, EverySpecialRangeIsRefusedFromItsFirstAddressToItsLast) {
  for (const Range& range : kRanges) {
    EXPECT_TRUE(special(range.first)) << range.first;
    EXPECT_TRUE(special(range.last)) << range.last;
  }
  for (const char* within : {"169.254.169.254", "::1", "::7f00:1", "::ffff:8.8.8.8", "64:ff9b::7f00:1"}) {
    EXPECT_TRUE(special(within)) << within;
  }
}

TEST(FetchGuard, AddressesNextToTheRangesAreAllowed) {
  for (const Range& range : kRanges) {
    for (const std::string beside : {range.before, range.after}) {
      EXPECT_TRUE(beside.empty() || !special(beside)) << beside;
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
