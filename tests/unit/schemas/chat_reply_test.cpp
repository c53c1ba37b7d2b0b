#include "schemas/chat/chat_reply.h"

#include <gtest/gtest.h>

namespace millrace::schemas::chat_reply_test {
namespace {

using schemas::Json;

ChatReply reply_of(ChatChoice choice) {
  ChatReply reply;
  reply.id = "chatcmpl-1";
  reply.created = 1700000000;
  reply.model = "m";
  reply.choices.push_back(std::move(choice));
  return reply;
}
ChatChoice text_choice() {
  ChatChoice choice;
  choice.content = "hi";
  choice.finish_reason = "stop";
  return choice;
}

TEST(ChatCompletion, HasItsMembersInOrderAndNullsWhereTheyMustBe) {
  EXPECT_EQ(chat_completion_json(reply_of(text_choice()), false),
            R"({"id":"chatcmpl-1","object":"chat.completion","created":1700000000,"model":"m",)"
            R"("choices":[{"index":0,"message":{"role":"assistant","content":"hi","refusal":null},)"
            R"("logprobs":null,"finish_reason":"stop"}]})");
}

TEST(ChatCompletion, SaysUsageWithTheDetailsThatAreKnown) {
  ChatReply reply = reply_of(text_choice());
  reply.usage =
      ChatUsage{.prompt = 5, .completion = 3, .total = 8, .cached = 2, .cache_write = 1, .reasoning = 1};
  reply.service_tier = "default";
  reply.system_fingerprint = "fp";
  const std::string text = chat_completion_json(reply, false);
  EXPECT_NE(text.find(R"("usage":{"prompt_tokens":5,"completion_tokens":3,"total_tokens":8,)"
                      R"("prompt_tokens_details":{"cached_tokens":2,"cache_creation_tokens":1},)"
                      R"("completion_tokens_details":{"reasoning_tokens":1}},)"
                      R"("service_tier":"default","system_fingerprint":"fp"})"),
            std::string::npos)
      << text;
}

TEST(ChatCompletion, HasCallsReasoningAndUnknownMembersOfTheUpstream) {
  ChatChoice choice;
  choice.reasoning = "why";
  choice.tool_calls = {{.id = "c1", .name = "f", .arguments = R"({"a":1})"},
                       {.id = "c2", .type = "custom", .name = "g", .arguments = "free"}};
  choice.finish_reason = "tool_calls";
  choice.extra = {{"annotations", Json::array()}, {"content", "not this one"}};
  const Json message = Json::parse(chat_completion_json(reply_of(choice), false))["choices"][0]["message"];
  EXPECT_EQ(message,
            Json::parse(R"({"role":"assistant","content":null,"refusal":null,)"
                        R"("reasoning_content":"why","annotations":[],"tool_calls":[)"
                        R"({"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}},)"
                        R"({"id":"c2","type":"custom","custom":{"name":"g","input":"free"}}]})"));
}

TEST(ChatCompletion, TheOldFormHasAFunctionCall) {
  ChatChoice choice;
  choice.tool_calls = {{.id = "c1", .name = "f", .arguments = "{}"}};
  choice.finish_reason = "tool_calls";
  const Json got = Json::parse(chat_completion_json(reply_of(choice), true))["choices"][0];
  EXPECT_EQ(got["message"]["function_call"], (Json{{"name", "f"}, {"arguments", "{}"}}));
  EXPECT_FALSE(got["message"].contains("tool_calls"));
  EXPECT_EQ(got["finish_reason"], "function_call");
}

TEST(ChatCompletion, SaysWhatServerSideToolsHaveDone) {
  ChatReply reply = reply_of(text_choice());
  reply.tools.executed = {"s__f"};
  reply.tools.results = {
      {.server_name = "s", .tool_name = "f", .arguments = "{\n\"a\": 1}", .result = "42", .duration_ms = 7},
      {.server_name = "s", .tool_name = "g", .arguments = "not json", .is_error = true}};
  reply.tools.errors = {{.server_name = "t", .message = "down", .code = "502", .recommendation = "wait"},
                        {.server_name = "t", .message = "again"},
                        {.server_name = "u", .message = "gone"}};
  reply.tools.turns = 2;
  const Json got = Json::parse(chat_completion_json(reply, false));
  EXPECT_EQ(got["tools_executed"], Json::array({"s__f"}));
  EXPECT_EQ(got["mcp_tool_results"],
            Json::parse(R"([{"server_name":"s","tool_name":"f","arguments":{"a":1},"is_error":false,)"
                        R"("result":"42","duration_ms":7},{"server_name":"s","tool_name":"g",)"
                        R"("arguments":"not json","is_error":true,"duration_ms":0}])"));
  EXPECT_EQ(got["turns_consumed"], 2);
  EXPECT_EQ(got["mcp_server_errors"],
            Json::parse(R"({"t":{"message":"down","code":"502","recommendation":"wait"},)"
                        R"("u":{"message":"gone"}})"));
}

TEST(ChatCompletion, SaysNothingOfToolsWhenNoneRan) {
  const Json got = Json::parse(chat_completion_json(reply_of(text_choice()), false));
  for (const char* name :
       {"tools_executed", "mcp_tool_results", "turns_consumed", "mcp_server_errors", "usage"})
    EXPECT_FALSE(got.contains(name)) << name;
}

TEST(ChatCompletion, BytesThatAreNoTextBecomeTheReplacementCharacter) {
  ChatChoice choice = text_choice();
  choice.content = "a\xFF\"\n\xE2\x82\xAC";
  const Json got = Json::parse(chat_completion_json(reply_of(choice), false));
  EXPECT_EQ(got["choices"][0]["message"]["content"], "a\xEF\xBF\xBD\"\n\xE2\x82\xAC");
}

TEST(ChatUsageSum, AddsWhatEitherSays) {
  ChatUsage sum{.prompt = 1, .completion = 2, .total = 3, .cached = 4};
  add(sum, {.prompt = 10, .completion = 20, .total = 30, .cached = 1, .reasoning = 5, .estimated = true});
  EXPECT_EQ(
      sum, (ChatUsage{
               .prompt = 11, .completion = 22, .total = 33, .cached = 5, .reasoning = 5, .estimated = true}));
}

// The counts are from OpenAI's cl100k_base encoding.
TEST(EstimatedTokens, OfProseAreNotBelowATokenizersByMoreThanATenth) {
  const std::pair<std::string_view, std::int64_t> table[] = {
      {"The quick brown fox jumps over the lazy dog.", 10},
      {"Hello, world!", 4},
      {"To be, or not to be, that is the question:", 13},
  };
  for (const auto& [text, tokens] : table) {
    EXPECT_GE(estimated_tokens(text) * 10, tokens * 9) << text;
    EXPECT_LE(estimated_tokens(text), tokens * 2) << text;
  }
}

}  // namespace
}  // namespace millrace::schemas::chat_reply_test
