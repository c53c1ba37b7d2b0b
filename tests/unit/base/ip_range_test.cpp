#include "platform/base/ip_range.h"

#include <gtest/gtest.h>

namespace millrace::base {
namespace {

TEST(IpRanges, ContainTheirAddressesUpToTheEdges) {
  struct Case {
    const char *range, *first, *last, *before, *after;
  };
  for (const Case& each : {
           Case{"10.0.0.0/8", "10.0.0.0", "10.255.255.255", "9.255.255.255", "11.0.0.0"},
           Case{"192.168.4.0/22", "192.168.4.0", "192.168.7.255", "192.168.3.255", "192.168.8.0"},
           Case{"203.0.113.9", "203.0.113.9", "203.0.113.9", "203.0.113.8", "203.0.113.10"},
           Case{"2001:db8::/33", "2001:db8::", "2001:db8:7fff:ffff:ffff:ffff:ffff:ffff", "2001:db7:ffff::1",
                "2001:db8:8000::"},
           Case{"::1", "::1", "::1", "::", "::2"},
       }) {
    const auto range = IpRange::parse(each.range);
    ASSERT_TRUE(range.has_value()) << each.range;
    EXPECT_TRUE(range->contains(each.first) && range->contains(each.last)) << each.range;
    EXPECT_FALSE(range->contains(each.before) || range->contains(each.after)) << each.range;
  }
  EXPECT_TRUE(IpRange::parse("0.0.0.0/0")->contains("8.8.8.8"));
  EXPECT_FALSE(IpRange::parse("0.0.0.0/0")->contains("::2")) << "IPv6 is another range";
  EXPECT_TRUE(IpRange::parse("10.0.0.0/8")->contains("::ffff:10.1.2.3")) << "the same address, mapped";
  EXPECT_FALSE(IpRange::parse("10.0.0.0/8")->contains("nonsense"));
}

TEST(IpRanges, ContainSmallerRanges) {
  const auto range = [](const char* text) { return IpRange::parse(text).value(); };
  EXPECT_TRUE(range("10.0.0.0/8").contains(range("10.1.0.0/16")));
  EXPECT_TRUE(range("10.0.0.0/8").contains(range("10.0.0.0/8")));
  EXPECT_FALSE(range("10.1.0.0/16").contains(range("10.0.0.0/8")));
  EXPECT_FALSE(range("10.0.0.0/8").contains(range("11.0.0.0/16")));
}

TEST(IpRanges, AnythingElseIsAnErrorThatNamesTheText) {
  for (const char* bad : {"", "x", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/8x", "::/129",
                          "10.0.0", "fe80::1%eth0", "10.0.0.1/8"}) {
    const auto parsed = IpRange::parse(bad);
    ASSERT_FALSE(parsed.has_value()) << bad;
    EXPECT_NE(parsed.error().message.find("'" + std::string(bad) + "'"), std::string::npos);
  }
}

}  // namespace
}  // namespace millrace::base
