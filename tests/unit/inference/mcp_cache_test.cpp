#include <gtest/gtest.h>

#include "ai/inference/mcp/cache.h"

namespace millrace::inference {
namespace {

using std::chrono::milliseconds;

const McpCache::Time kNow{std::chrono::hours(1)};

McpToolListPtr tools(std::size_t schema_bytes = 2) {
  McpListedTool tool;
  tool.tool = {"t", "", std::string(schema_bytes, ' ')};
  return std::make_shared<const McpToolList>(McpToolList{{tool}, {}});
}

McpEndpoint at(const std::string& url) {
  McpEndpoint endpoint;
  endpoint.url = url;
  return endpoint;
}

TEST(McpCacheTest, AListIsKnownUntilItIsTooOld) {
  McpCache cache({.keep = milliseconds(100)});
  cache.keep("a", tools(), std::nullopt, kNow);
  cache.keep("b", tools(), milliseconds(40), kNow);
  cache.keep("c", tools(), milliseconds(4000), kNow);
  EXPECT_TRUE(cache.tools("a", kNow + milliseconds(99)));
  EXPECT_FALSE(cache.tools("a", kNow + milliseconds(100)));
  EXPECT_FALSE(cache.tools("b", kNow + milliseconds(40)));
  EXPECT_FALSE(cache.tools("c", kNow + milliseconds(100))) << "the setting is the maximum lifetime";
}

TEST(McpCacheTest, ALaterListTakesThePlaceOfAnEarlierOne) {
  McpCache cache;
  const McpToolListPtr later = tools();
  cache.keep("a", tools(), std::nullopt, kNow);
  cache.keep("a", later, std::nullopt, kNow);
  EXPECT_EQ(later, cache.tools("a", kNow));
  cache.keep("a", tools(), milliseconds(0), kNow);
  EXPECT_FALSE(cache.tools("a", kNow)) << "a lifetime of 0 is not cached";
}

TEST(McpCacheTest, NothingIsKeptIfTheSettingIsZero) {
  McpCache cache({.keep = milliseconds(0)});
  cache.keep("a", tools(), milliseconds(4000), kNow);
  EXPECT_FALSE(cache.tools("a", kNow));
}

TEST(McpCacheTest, TheListThatWasUsedLongestAgoIsEvicted) {
  McpCache cache({.servers_max = 2});
  cache.keep("a", tools(), std::nullopt, kNow);
  cache.keep("b", tools(), std::nullopt, kNow + milliseconds(1));
  EXPECT_TRUE(cache.tools("a", kNow + milliseconds(2)));
  cache.keep("c", tools(), std::nullopt, kNow + milliseconds(3));
  EXPECT_TRUE(cache.tools("a", kNow + milliseconds(4)));
  EXPECT_FALSE(cache.tools("b", kNow + milliseconds(4)));
}

TEST(McpCacheTest, TheBytesOfAllListsAreBounded) {
  McpCache cache({.bytes_max = 10'000});
  cache.keep("a", tools(6'000), std::nullopt, kNow);
  cache.keep("b", tools(6'000), std::nullopt, kNow + milliseconds(1));
  EXPECT_FALSE(cache.tools("a", kNow + milliseconds(2)));
  EXPECT_TRUE(cache.tools("b", kNow + milliseconds(2)));
  cache.keep("c", tools(20'000), std::nullopt, kNow + milliseconds(3));
  EXPECT_FALSE(cache.tools("c", kNow + milliseconds(4)));
  EXPECT_TRUE(cache.tools("b", kNow + milliseconds(4))) << "an entry that is too large evicts no other entry";
}

TEST(McpCacheTest, AServerIsItsUrlItsVersionAndItsHeaders) {
  McpEndpoint plain = at("https://a/mcp"), keyed = plain, versioned = plain;
  keyed.headers.emplace_back("Authorization", "Bearer secret");
  versioned.version = "2025-06-18";
  EXPECT_EQ(McpCache::server_of(plain), McpCache::server_of(at("https://a/mcp")));
  EXPECT_NE(McpCache::server_of(plain), McpCache::server_of(at("https://a/other")));
  EXPECT_NE(McpCache::server_of(plain), McpCache::server_of(keyed));
  EXPECT_NE(McpCache::server_of(plain), McpCache::server_of(versioned));
  McpEndpoint trusted = at("https://a/mcp");
  trusted.guarded = !trusted.guarded;
  EXPECT_NE(McpCache::server_of(plain), McpCache::server_of(trusted))
      << "guarded and unguarded servers have separate entries";
  EXPECT_EQ(std::string::npos, McpCache::server_of(keyed).find("secret"));
}

TEST(McpCacheTest, TheTransportIsRememberedPerUrl) {
  McpCache cache({.servers_max = 2});
  cache.remember_transport("https://a:8443/mcp", McpTransport::kSessions);
  cache.remember_transport("https://a:8443/other", McpTransport::kStateless);
  EXPECT_EQ(McpTransport::kSessions, cache.transport("https://a:8443/mcp"));
  EXPECT_EQ(McpTransport::kStateless, cache.transport("https://a:8443/other"));
  EXPECT_EQ(McpTransport::kUnknown, cache.transport("https://a/mcp"));
  cache.remember_transport("https://a:8443/mcp", McpTransport::kUnknown);
  EXPECT_EQ(McpTransport::kUnknown, cache.transport("https://a:8443/mcp"));
}

}  // namespace
}  // namespace millrace::inference
