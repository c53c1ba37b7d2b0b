#include <gtest/gtest.h>

#include "ai/inference/mcp/memory.h"

namespace millrace::inference {
namespace {

using std::chrono::milliseconds;

const McpCache::Time kNow{std::chrono::hours(1)};

McpToolListPtr tools(std::size_t schema_bytes = 2) {
  McpListedTool tool;
  tool.tool = {"t", "", std::string(schema_bytes, ' ')};
  return std::make_shared<const McpToolList>(McpToolList{tool});
}

McpEndpoint at(const std::string& url) {
  McpEndpoint endpoint;
  endpoint.url = url;
  return endpoint;
}

TEST(McpMemories, AListIsKnownUntilItIsTooOld) {
  McpCache memory({.keep = milliseconds(100)});
  memory.keep("a", tools(), std::nullopt, kNow);
  memory.keep("b", tools(), milliseconds(40), kNow);
  memory.keep("c", tools(), milliseconds(4000), kNow);
  EXPECT_TRUE(memory.tools("a", kNow + milliseconds(99)));
  EXPECT_FALSE(memory.tools("a", kNow + milliseconds(100)));
  EXPECT_FALSE(memory.tools("b", kNow + milliseconds(40)));
  EXPECT_FALSE(memory.tools("c", kNow + milliseconds(100))) << "the setting is the maximum lifetime";
}

TEST(McpMemories, ALaterListTakesThePlaceOfAnEarlierOne) {
  McpCache memory;
  const McpToolListPtr later = tools();
  memory.keep("a", tools(), std::nullopt, kNow);
  memory.keep("a", later, std::nullopt, kNow);
  EXPECT_EQ(later, memory.tools("a", kNow));
  memory.keep("a", tools(), milliseconds(0), kNow);
  EXPECT_FALSE(memory.tools("a", kNow)) << "a lifetime of 0 is not cached";
}

TEST(McpMemories, NothingIsKeptWhereTheSettingSaysSo) {
  McpCache memory({.keep = milliseconds(0)});
  memory.keep("a", tools(), milliseconds(4000), kNow);
  EXPECT_FALSE(memory.tools("a", kNow));
}

TEST(McpMemories, TheListThatWasUsedLongestAgoIsEvicted) {
  McpCache memory({.servers_max = 2});
  memory.keep("a", tools(), std::nullopt, kNow);
  memory.keep("b", tools(), std::nullopt, kNow + milliseconds(1));
  EXPECT_TRUE(memory.tools("a", kNow + milliseconds(2)));
  memory.keep("c", tools(), std::nullopt, kNow + milliseconds(3));
  EXPECT_TRUE(memory.tools("a", kNow + milliseconds(4)));
  EXPECT_FALSE(memory.tools("b", kNow + milliseconds(4)));
}

TEST(McpMemories, TheBytesOfAllListsAreBounded) {
  McpCache memory({.bytes_max = 10'000});
  memory.keep("a", tools(6'000), std::nullopt, kNow);
  memory.keep("b", tools(6'000), std::nullopt, kNow + milliseconds(1));
  EXPECT_FALSE(memory.tools("a", kNow + milliseconds(2)));
  EXPECT_TRUE(memory.tools("b", kNow + milliseconds(2)));
  memory.keep("c", tools(20'000), std::nullopt, kNow + milliseconds(3));
  EXPECT_FALSE(memory.tools("c", kNow + milliseconds(4)));
  EXPECT_TRUE(memory.tools("b", kNow + milliseconds(4)))
      << "an entry that is too large evicts no other entry";
}

TEST(McpMemories, AServerIsItsUrlItsVersionAndItsHeaders) {
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

TEST(McpMemories, TheTransportIsRememberedPerUrl) {
  McpCache memory({.servers_max = 2});
  memory.learn("https://a:8443/mcp", McpTransport::kSessions);
  memory.learn("https://a:8443/other", McpTransport::kModern);
  EXPECT_EQ(McpTransport::kSessions, memory.transport("https://a:8443/mcp"));
  EXPECT_EQ(McpTransport::kModern, memory.transport("https://a:8443/other"));
  EXPECT_EQ(McpTransport::kUnknown, memory.transport("https://a/mcp"));
  memory.learn("https://a:8443/mcp", McpTransport::kUnknown);
  EXPECT_EQ(McpTransport::kUnknown, memory.transport("https://a:8443/mcp"));
}

}  // namespace
}  // namespace millrace::inference
