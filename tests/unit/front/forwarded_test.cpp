#include "api/front/forwarded.h"

#include <gtest/gtest.h>

#include "tests/unit/front/served.h"

namespace millrace::front::test {
namespace {

std::vector<base::IpRange> trusted_ranges() {
  return {*base::IpRange::parse("10.0.0.0/8"), *base::IpRange::parse("127.0.0.1"),
          *base::IpRange::parse("fd00::/8")};
}

struct ForwardedRow {
  const char *header, *value, *client;
};

TEST(ForwardedClient, IsTheRightmostAddressThatIsNoProxy) {
  const ForwardedRow rows[] = {
      {"X-Forwarded-For", "192.0.2.1", "192.0.2.1"},
      {"x-forwarded-for", "198.51.100.9, 192.0.2.1",
       "192.0.2.1"},  // a client may send the first entries itself
      {"X-Forwarded-For", "198.51.100.9, 192.0.2.1, 10.1.1.1,10.2.2.2", "192.0.2.1"},
      {"X-Forwarded-For", "10.1.1.1, 10.2.2.2", "10.1.1.1"},
      {"X-Forwarded-For", "192.0.2.1:4711", "192.0.2.1"},
      {"X-Forwarded-For", "2001:db8::7", "2001:db8::7"},
      {"X-Forwarded-For", "[2001:db8::7]:4711", "2001:db8::7"},
      {"X-Forwarded-For", "192.0.2.1, unknown", "127.0.0.1"},
      {"X-Forwarded-For", "192.0.2.1, nonsense, 10.1.1.1", "10.1.1.1"},
      {"X-Forwarded-For", "", "127.0.0.1"},
      {"X-Forwarded-For", "\", 192.0.2.1", "192.0.2.1"},  // quotes mean nothing here
      {"Forwarded", "for=192.0.2.1", "192.0.2.1"},
      {"Forwarded", "proto=https;For=198.51.100.9, by=10.1.1.1;for=192.0.2.1;proto=http", "192.0.2.1"},
      {"Forwarded", "for=\"[2001:db8::7]:4711\";host=\"a,b\"", "2001:db8::7"},
      {"Forwarded", "for=192.0.2.1, for=_hidden", "127.0.0.1"},
      {"Forwarded", "proto=https", "127.0.0.1"},
      {"X-Real-Ip", "192.0.2.1", "127.0.0.1"},
  };
  for (const ForwardedRow& row : rows) {
    Head head;
    head.headers = {{"Host", "a"}, {row.header, row.value}};
    const bool is_standard = std::string_view(row.header) == "Forwarded";
    const auto from = is_standard ? ForwardedHeader::kForwarded : ForwardedHeader::kXForwardedFor;
    EXPECT_EQ(forwarded_client(head, "127.0.0.1", trusted_ranges(), from), row.client)
        << row.header << ": " << row.value;
  }
}

TEST(ForwardedClient, SeveralHeadersAreOneListAndTheHeaderThatProxiesDoNotWriteIsIgnored) {
  Head head;
  head.headers = {{"X-Forwarded-For", "198.51.100.9"},
                  {"Forwarded", "for=203.0.113.5"},
                  {"X-Forwarded-For", "192.0.2.1, 10.1.1.1"}};
  const auto client = [&](ForwardedHeader from) {
    return forwarded_client(head, "127.0.0.1", trusted_ranges(), from);
  };
  EXPECT_EQ(client(ForwardedHeader::kXForwardedFor), "192.0.2.1");
  EXPECT_EQ(client(ForwardedHeader::kForwarded), "203.0.113.5");
  head.headers = {{"X-Forwarded-For", "198.51.100.9"}};
  EXPECT_EQ(client(ForwardedHeader::kForwarded), "127.0.0.1");
}

class TrustedProxy : public Served {
 protected:
  void start_with(std::vector<base::IpRange> proxies, const std::string& host = "127.0.0.1") {
    Server::Options options;
    options.host = host;
    options.port = 0;
    options.limits.connections_max = 8;
    options.trusted_proxies = std::move(proxies);
    server.emplace(options, application);
    ASSERT_TRUE(server->start().has_value());
  }
};

TEST_F(TrustedProxy, NamesTheClient) {
  start_with(trusted_ranges());
  RawClient one = client();
  ASSERT_TRUE(one.send(get("/", "X-Forwarded-For: 192.0.2.1\r\n") + get("/")));
  ASSERT_TRUE(one.reply() && one.reply());
  const std::vector<Head> heads = application.admitted();
  EXPECT_EQ(heads[0].peer, "192.0.2.1");
  EXPECT_TRUE(heads[0].from_proxy);
  EXPECT_EQ(heads[1].peer, "127.0.0.1");
}

TEST_F(TrustedProxy, NamesTheClientInTheHeaderOfTheOptions) {
  Server::Options options;
  options.port = 0;
  options.trusted_proxies = trusted_ranges();
  options.forwarded_header = ForwardedHeader::kForwarded;
  server.emplace(options, application);
  ASSERT_TRUE(server->start().has_value());
  ASSERT_TRUE(send_request(get("/", "X-Forwarded-For: 198.51.100.9\r\nForwarded: for=192.0.2.1\r\n")));
  EXPECT_EQ(application.admitted()[0].peer, "192.0.2.1");
}

TEST_F(TrustedProxy, MayHaveAnAddressOfIpv6) {
  start_with({*base::IpRange::parse("::1")}, "::1");
  RawClient one(server->port(), 0, "::1");
  ASSERT_TRUE(one.send(get("/", "X-Forwarded-For: 2001:db8::7\r\n")) && one.reply());
  EXPECT_EQ(application.admitted()[0].peer, "2001:db8::7");
}

TEST_F(TrustedProxy, IsKnownByItsIpv4AddressOnAListenerForBoth) {
  start_with(trusted_ranges(), "::");
  ASSERT_TRUE(send_request(get("/", "X-Forwarded-For: 192.0.2.1\r\n")));
  EXPECT_EQ(application.admitted()[0].peer, "192.0.2.1");
}

TEST_F(TrustedProxy, AnyoneElseNamesNobody) {
  start_with({*base::IpRange::parse("10.0.0.0/8")});
  ASSERT_TRUE(send_request(get("/", "X-Forwarded-For: 192.0.2.1\r\nForwarded: for=192.0.2.1\r\n")));
  EXPECT_EQ(application.admitted()[0].peer, "127.0.0.1");
  EXPECT_FALSE(application.admitted()[0].from_proxy);
}

TEST_F(TrustedProxy, HasNoShareOfTheConnections) {
  start_with(trusted_ranges());
  RawClient other(server->port(), 0, "127.0.0.1", "127.0.0.2");  // the oldest
  ASSERT_TRUE(other.send(get("/")) && other.reply());
  std::vector<RawClient> proxied;
  for (int i = 0; i < 8; ++i) {
    proxied.push_back(client());
    ASSERT_TRUE(proxied.back().send(get("/")) && proxied.back().reply());
  }
  EXPECT_TRUE(other.ends());
  EXPECT_FALSE(proxied[0].ends(std::chrono::milliseconds(50)));
}

}  // namespace
}  // namespace millrace::front::test
