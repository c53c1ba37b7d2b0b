#include <gtest/gtest.h>

#include "schemas/key_access.h"

namespace millrace::schemas {
namespace {

const AllowList kTeamA = std::vector<std::string>{"https://mcp.example/team-a/*"};

TEST(AllowedUrls, AreThoseThatBeginAsTheEntry) {
  EXPECT_TRUE(allows_url(kTeamA, "https://mcp.example/team-a/mcp?session=1"));
  EXPECT_TRUE(allows_url(kTeamA, "https://mcp.example/team-a/v1..2/.well-known"));
  EXPECT_FALSE(allows_url(kTeamA, "https://mcp.example/team-b/mcp"));
  EXPECT_TRUE(allows_url({}, "https://mcp.example/team-a/../team-b"));
}

TEST(AllowedUrls, HaveNoDotSegments) {
  for (const char* path : {"../team-b/mcp", "./mcp", "..", ".", "%2e%2e/team-b", "%2E./team-b", ".%2e/b",
                           "..\\team-b", "..%5cteam-b", "../team-b?x=1", "..#x"}) {
    EXPECT_FALSE(allows_url(kTeamA, std::string("https://mcp.example/team-a/") + path)) << path;
  }
}

TEST(AllowedUrls, AnEntryNamesTheWholeHost) {
  KeyAccess access;
  access.mcp_servers = {"https://mcp.example*"};
  EXPECT_FALSE(check_access(access));
  access.mcp_servers = {"https://mcp.example/*", "search*", "*"};
  EXPECT_TRUE(check_access(access));
}

}  // namespace
}  // namespace millrace::schemas
