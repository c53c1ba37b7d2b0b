#include "platform/base/ip_address.h"

#include <gtest/gtest.h>

namespace millrace::base::ip_address_test {
namespace {

TEST(IpAddress, BothFamiliesAreReadAndWritten) {
  for (const char* text : {"127.0.0.1", "::1", "2001:db8::5", "::"}) {
    const auto address = IpAddress::parse(text);
    ASSERT_TRUE(address) << text;
    EXPECT_EQ(address->str(), text);
  }
  EXPECT_EQ(IpAddress::parse("::ffff:10.0.0.1"), IpAddress::parse("10.0.0.1"));
}

TEST(IpAddress, OtherTextIsNone) {
  for (const char* text :
       {"", "localhost", "127.1", "0x7f.0.0.1", "127.0.0.1:80", "[::1]", "fe80::1%lo", "1::2::3"})
    EXPECT_FALSE(IpAddress::parse(text)) << text;
  EXPECT_FALSE(IpAddress::parse(std::string_view("127.0.0.1\0", 10)));
}

struct RangeRow {
  const char *range, *address;
  bool inside;
};

TEST(IpRange, ContainsWhatBeginsWithItsBits) {
  const RangeRow rows[] = {{"10.0.0.0/8", "10.255.255.255", true},
                           {"10.0.0.0/8", "11.0.0.0", false},
                           {"10.0.0.0/9", "10.128.0.0", false},
                           {"0.0.0.0/0", "1.2.3.4", true},
                           {"0.0.0.0/0", "::1", false},
                           {"fd00::/8", "fdff::1", true},
                           {"fd00::/8", "fe00::1", false},
                           {"::/0", "1.2.3.4", true},
                           {"192.0.2.7", "192.0.2.7", true},
                           {"192.0.2.7", "192.0.2.8", false},
                           {"10.0.0.0/8", "::ffff:10.1.1.1", true}};
  for (const RangeRow& row : rows) {
    const auto range = IpRange::parse(row.range);
    ASSERT_TRUE(range) << row.range;
    EXPECT_EQ(range->str(), row.range);
    EXPECT_EQ(range->contains(*IpAddress::parse(row.address)), row.inside) << row.range << " " << row.address;
  }
}

TEST(IpRange, ARangeWithSurplusBitsOrWithoutAnAddressIsNone) {
  for (const char* text :
       {"10.0.0.1/8", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/8x", "fd00::/129", "a/8", ""})
    EXPECT_FALSE(IpRange::parse(text)) << text;
}

TEST(IpRange, AClientOfIpv6HasANetwork) {
  EXPECT_EQ(IpRange::of_client(*IpAddress::parse("192.0.2.7")).str(), "192.0.2.7");
  EXPECT_EQ(IpRange::of_client(*IpAddress::parse("2001:db8:1:2:3:4:5:6")).str(), "2001:db8:1:2::/64");
}

TEST(IpRange, ContainsSmallerRanges) {
  const auto range = [](const char* text) { return IpRange::parse(text).value(); };
  EXPECT_TRUE(range("10.0.0.0/8").contains(range("10.1.0.0/16")));
  EXPECT_TRUE(range("10.0.0.0/8").contains(range("10.0.0.0/8")));
  EXPECT_FALSE(range("10.1.0.0/16").contains(range("10.0.0.0/8")));
  EXPECT_FALSE(range("10.0.0.0/8").contains(range("11.0.0.0/16")));
}

}  // namespace
}  // namespace millrace::base::ip_address_test
