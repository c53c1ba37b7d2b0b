#include <gtest/gtest.h>

#include "ai/inference/mcp/messages.h"

namespace millrace::inference {
namespace {

using schemas::Json;
using Kind = McpMessage::Kind;

McpMessage read(const std::string& text) {
  base::Result<McpMessage> message = read_mcp_message(text);
  EXPECT_TRUE(message) << text;
  return message.value_or(McpMessage{});
}

TEST(McpMessages, AResultKeepsItsIdAndItsBody) {
  const McpMessage message = read(R"({"jsonrpc":"2.0","id":7,"result":{"tools":[]}})");
  EXPECT_EQ(Kind::kResult, message.kind);
  EXPECT_EQ(7, message.id);
  EXPECT_EQ(Json({{"tools", Json::array()}}), message.result);
}

TEST(McpMessages, AMethodWithAnIdIsARequestAndWithoutOneANotification) {
  EXPECT_EQ(Kind::kRequest, read(R"({"jsonrpc":"2.0","id":"a","method":"ping"})").kind);
  EXPECT_EQ(Kind::kNotification, read(R"({"jsonrpc":"2.0","method":"notifications/progress"})").kind);
}

TEST(McpMessages, AnErrorNamesTheVersionsThatTheServerSupports) {
  const McpMessage message = read(
      R"({"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"no","data":{"supported":["x",1,"y"]}}})");
  EXPECT_EQ(Kind::kError, message.kind);
  EXPECT_TRUE(message.is_modern_error());
  EXPECT_EQ((std::vector<std::string>{"x", "y"}), message.supported);
}

TEST(McpMessages, AnErrorOfAServerIsQuotedWithoutKeys) {
  const McpMessage message =
      read(R"({"id":1,"error":{"code":1e99,"message":"bad key sk-abcdefghijklmnop"}})");
  EXPECT_EQ(0, message.code);
  EXPECT_EQ("bad key ***", message.error_message);
}

TEST(McpMessages, BrokenTextOfAResultIsReplaced) {
  for (const std::string text : {R"(a\ud83d)", "a\xff"}) {
    const McpMessage message =
        read(R"({"id":1,"result":{"content":[{"type":"text","text":")" + text + R"("}]}})");
    EXPECT_EQ("a\xEF\xBF\xBD", message.result["content"][0]["text"]);
  }
}

TEST(McpMessages, WhatIsNoMessageIsRefused) {
  const std::string deep = R"({"result":)" + std::string(100, '[') + std::string(100, ']') + "}";
  for (const std::string& text :
       {std::string("[]"), std::string("{}"), std::string("<html>"), deep,
        std::string(R"({"id":1,"result":3})"), std::string(R"({"id":1,"error":"x"})")}) {
    const auto message = read_mcp_message(text);
    ASSERT_FALSE(message) << text;
    EXPECT_EQ(base::Code::kUpstream, message.error().code);
  }
}

TEST(McpMessages, OurMessagesAreJsonRpc) {
  EXPECT_EQ(Json::parse(R"({"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"cursor":"c"}})"),
            Json::parse(mcp_request(3, "tools/list", {{"cursor", "c"}})));
  EXPECT_EQ(Json::parse(R"({"jsonrpc":"2.0","method":"notifications/initialized"})"),
            Json::parse(mcp_notification("notifications/initialized")));
}

TEST(McpMessages, APingIsAnsweredAndAnyOtherRequestIsRefused) {
  EXPECT_EQ(Json::parse(R"({"jsonrpc":"2.0","id":"p","result":{}})"),
            Json::parse(mcp_answer(read(R"({"id":"p","method":"ping"})"))));
  const Json refusal = Json::parse(mcp_answer(read(R"({"id":4,"method":"sampling/createMessage"})")));
  EXPECT_EQ(4, refusal["id"]);
  EXPECT_EQ(-32601, refusal["error"]["code"]);
}

TEST(McpMessages, AHeaderCarriesWhatIsNotPlainAsciiInBase64) {
  EXPECT_EQ("get sum", mcp_header_value("get sum"));
  EXPECT_EQ("=?base64?w7xiZXI=?=", mcp_header_value("\xC3\xBC"
                                                    "ber"));
  EXPECT_EQ("=?base64?YQ0KWC1ZOiB6?=", mcp_header_value("a\r\nX-Y: z"));
  EXPECT_EQ("=?base64?IGE=?=", mcp_header_value(" a"));
  EXPECT_EQ("=?base64?PT9iYXNlNjQ/YT89?=", mcp_header_value("=?base64?a?="));
}

}  // namespace
}  // namespace millrace::inference
