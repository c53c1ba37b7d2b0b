#include "platform/base/net_address.h"

#include <gtest/gtest.h>

namespace millrace::base::net_address_test {
namespace {

struct Row {
  std::string_view text, host;
  std::uint16_t port;
};

TEST(NetAddress, NamesAndBothFamiliesAreRead) {
  const Row rows[] = {{"127.0.0.1:8080", "127.0.0.1", 8080},
                      {"broker:9092", "broker", 9092},
                      {"a-b_c.example:0", "a-b_c.example", 0},
                      {"[::1]:65535", "::1", 65535},
                      {"[fe80::1]:80", "fe80::1", 80}};
  for (const Row& row : rows) {
    const auto got = parse_net_address(row.text);
    ASSERT_TRUE(got) << row.text;
    EXPECT_EQ(got->host, row.host);
    EXPECT_EQ(got->port, row.port);
    EXPECT_EQ(got->str(), row.text);
  }
}

TEST(NetAddress, AMissingPortIsTheDefaultIfThereIsOne) {
  EXPECT_EQ(parse_net_address("broker", 9092).value(), (NetAddress{"broker", 9092}));
  EXPECT_EQ(parse_net_address("[::1]", 9092).value(), (NetAddress{"::1", 9092}));
  EXPECT_EQ(parse_net_address("broker:1", 9092).value().port, 1);
}

TEST(NetAddress, WhatIsMalformedIsRefusedWithAReason) {
  struct Bad {
    std::string_view text, reason;
  };
  const Bad rows[] = {{"", "the host is missing"},
                      {"broker", "the port is missing"},
                      {":80", "the host is missing"},
                      {"h:", "the port must be a number"},
                      {"h:65536", "the port must be a number"},
                      {"h:-1", "the port must be a number"},
                      {"h:80x", "the port must be a number"},
                      {"::1:80", "in brackets"},
                      {"[::1:80", "not closed"},
                      {"[::1]80", "the port must be a number"},
                      {"[host]:1", "the host is missing or malformed"},
                      {"a b:1", "malformed"},
                      {"http://h:1", "in brackets"}};
  for (const Bad& row : rows) {
    const auto got = parse_net_address(row.text);
    ASSERT_FALSE(got) << row.text;
    EXPECT_NE(got.error().message.find(row.reason), std::string::npos)
        << row.text << ": " << got.error().message;
  }
}

TEST(IsHost, IsANameOrAnAddressWithoutAPortThatIsNoOption) {
  for (const char* host : {"box.example", "localhost", "127.0.0.1", "::1", "fd00::1"})
    EXPECT_TRUE(is_host(host)) << host;
  for (const char* wrong : {"", "-oProxyCommand=x", "a:22", "[::1]", "a b", "*.example", "a/b"})
    EXPECT_FALSE(is_host(wrong)) << wrong;
}

}  // namespace
}  // namespace millrace::base::net_address_test
