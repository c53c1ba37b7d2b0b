#include <gtest/gtest.h>

#include "ai/inference/mcp/stream.h"

namespace millrace::inference {
namespace {

TEST(McpStreams, MessagesGoToAPlaceOfTheServersOwn) {
  EXPECT_EQ("https://a:1/messages?s=1", *mcp_message_url("https://a:1/sse?x=/y", "/messages?s=1"));
  EXPECT_EQ("https://a:1/m", *mcp_message_url("https://a:1/sse", "https://a:1/m"));
}

TEST(McpStreams, APlaceOfAnotherServersIsRefused) {
  for (const char* place : {"https://b/m", "http://a/m", "https://a:2/m", "//b/m", "https://a@b/m", "m", ""})
    EXPECT_FALSE(mcp_message_url("https://a/sse", place)) << place;
}

}  // namespace
}  // namespace millrace::inference
