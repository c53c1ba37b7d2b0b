#include <gtest/gtest.h>

#include "tests/unit/providers/family_cases.h"

namespace millrace::providers::anthropic_reply_test {
namespace {

using schemas::Json;
using testing::target_of;

const Target kModel = target_of("anthropic", "claude-sonnet-4-5");

base::Result<schemas::ChatReply> reply(std::string_view body) {
  return translation(Family::kAnthropic).chat_reply(kModel, body);
}
schemas::ChatReply answer(const std::string& content, const std::string& more) {
  auto read =
      reply(R"({"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x", "content": )" +
            content + ", " + more + "}");
  EXPECT_TRUE(read.has_value());
  return read ? *std::move(read) : schemas::ChatReply{};
}
std::string reason(const std::string& given) {
  return answer("[]", R"("stop_reason": ")" + given + "\"").choices.at(0).finish_reason;
}

TEST(AnthropicReply, TextIsOneContentWhateverItsBlocks) {
  const auto read = answer(R"([{"type": "text", "text": "a"}, {"type": "server_tool_use", "id": "s", "name":
      "web_search", "input": {}}, {"type": "web_search_tool_result", "content": []}, {"type": "text", "text": "b"}])",
                           R"("stop_reason": "end_turn")");
  EXPECT_EQ(read.id, "msg_1");
  EXPECT_EQ(read.model, "claude-x");
  ASSERT_EQ(read.choices.size(), 1U);
  EXPECT_EQ(read.choices[0].content, "ab");
  EXPECT_TRUE(read.choices[0].tool_calls.empty());
  EXPECT_TRUE(read.choices[0].reasoning_state.empty());
  EXPECT_FALSE(read.usage.has_value());
}

TEST(AnthropicReply, CallsHaveTheirArgumentsAsText) {
  const auto read = answer(R"([{"type": "tool_use", "id": "t1", "name": "f", "input": {"q": "ü"}},
      {"type": "tool_use", "id": "t2", "name": "g", "input": {}}])",
                           R"("stop_reason": "tool_use")");
  const std::vector<schemas::ToolCall> calls = {{"t1", "function", "f", R"({"q":"ü"})"},
                                                {"t2", "function", "g", "{}"}};
  EXPECT_EQ(read.choices[0].tool_calls, calls);
  EXPECT_EQ(read.choices[0].content, std::nullopt);
  EXPECT_EQ(read.choices[0].finish_reason, "tool_calls");
}

TEST(AnthropicReply, EveryStopReasonHasItsFinishReason) {
  EXPECT_EQ(reason("end_turn"), "stop");
  EXPECT_EQ(reason("stop_sequence"), "stop");
  EXPECT_EQ(reason("pause_turn"), "length") << "nothing to continue";
  EXPECT_EQ(reason("max_tokens"), "length");
  EXPECT_EQ(reason("model_context_window_exceeded"), "length");
  EXPECT_EQ(reason("tool_use"), "tool_calls");
  EXPECT_EQ(reason("refusal"), "content_filter");
}

TEST(AnthropicReply, APausedTurnHasAllItsBlocksAsItsState) {
  const std::string blocks = R"([{"type":"text","text":"a","citations":null},{"type":"later_kind","x":[1]}])";
  const auto read = answer(blocks, R"("stop_reason": "pause_turn")");
  EXPECT_EQ(read.choices[0].finish_reason, kPausedTurn);
  EXPECT_EQ(read.choices[0].content, "a");
  EXPECT_EQ(Json::parse(read.choices[0].reasoning_state)["blocks"], Json::parse(blocks));
}

TEST(AnthropicReply, AnAnswerWithoutBlocksIsEmptyContent) {
  const auto read = answer("[]", R"("stop_reason": "refusal", "stop_details": {"explanation": "no"})");
  EXPECT_EQ(read.choices[0].content, "");
  EXPECT_EQ(read.choices[0].refusal, "no");
}

TEST(AnthropicReply, CachedTokensArePartOfThePrompt) {
  const auto read = answer("[]", R"("stop_reason": "end_turn", "usage": {"input_tokens": 5,
      "cache_read_input_tokens": 20, "cache_creation_input_tokens": 300, "output_tokens": 7,
      "output_tokens_details": {"thinking_tokens": 2}, "service_tier": "standard"})");
  schemas::ChatUsage usage;
  usage.prompt = 325;
  usage.completion = 7;
  usage.total = 332;
  usage.cached = 20;
  usage.cache_write = 300;
  usage.reasoning = 2;
  EXPECT_EQ(read.usage, usage);
  EXPECT_EQ(read.service_tier, "default");
}

TEST(AnthropicReply, ThinkingIsReasoningAndIsKeptForTheNextTurn) {
  const auto read = answer(R"([{"type": "thinking", "thinking": "hm", "signature": "sig"},
      {"type": "redacted_thinking", "data": "xx"}, {"type": "text", "text": "t"},
      {"type": "tool_use", "id": "t1", "name": "f", "input": {}}])",
                           R"("stop_reason": "tool_use")");
  EXPECT_EQ(read.choices[0].reasoning, "hm");
  EXPECT_EQ(read.choices[0].content, "t");
  EXPECT_EQ(Json::parse(read.choices[0].reasoning_state), Json::parse(R"({"provider": "anthropic", "blocks": [
      {"type": "thinking", "thinking": "hm", "signature": "sig"}, {"type": "redacted_thinking", "data": "xx"},
      {"type": "text"}, {"type": "tool_use", "id": "t1"}]})"));
}

TEST(AnthropicReply, WhatIsNoReplyIsAnErrorOfTheUpstream) {
  for (const char* body : {"", "<html>", "{}", "[]", R"({"content": "x"})", "{\"content\": [", "null"}) {
    const auto read = reply(body);
    ASSERT_FALSE(read.has_value()) << body;
    EXPECT_EQ(read.error().code, base::Code::kUpstream) << body;
  }
  EXPECT_FALSE(reply(std::string(100'000, '[')).has_value());
}

TEST(AnthropicReply, AnErrorInAReplyIsThatError) {
  const auto read =
      reply(R"({"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}})");
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().code, base::Code::kRateLimited);
  EXPECT_NE(read.error().message.find("slow down"), std::string::npos);
}

TEST(AnthropicReply, OddMembersDoNoHarm) {
  const auto read = answer(R"([7, null, {"type": "text", "text": 3}, {"type": "tool_use"}, {}])",
                           R"("stop_reason": 4, "usage": {"input_tokens": "x", "output_tokens": -3})");
  EXPECT_EQ(read.choices[0].finish_reason, "stop");
  EXPECT_EQ(read.usage->total, 0);
}

TEST(AnthropicError, ItsMessageIsThatOfTheProvider) {
  const auto& language = translation(Family::kAnthropic);
  EXPECT_EQ(language.error_message(R"({"type":"error","error":{"type":"x","message":"bad thing"}})"),
            "bad thing");
  EXPECT_EQ(language.error_message("<html>"), "");
  EXPECT_EQ(language.error_message(R"({"error": 3})"), "");
}

}  // namespace
}  // namespace millrace::providers::anthropic_reply_test
