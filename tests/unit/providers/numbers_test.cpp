#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "ai/providers/json_schema.h"
#include "schemas/json/json_body.h"
#include "tests/unit/providers/family_cases.h"

// Numbers beyond 64 bits keep their spelling on their way between clients, providers and tools.
namespace millrace::providers::numbers_test {
namespace {

using schemas::Json;
using testing::read_stream;
using testing::target_of;

constexpr const char* kLarge = R"({"a":12345678901234567890123,"b":[-98765432109876543210],"c":1.5})";

std::string history_with(const std::string& arguments) {
  return Json{{"messages",
               {{{"role", "user"}, {"content", "u"}},
                {{"role", "assistant"},
                 {"tool_calls",
                  {{{"id", "abcdefghi"},
                    {"type", "function"},
                    {"function", {{"name", "f"}, {"arguments", arguments}}}}}}},
                {{"role", "tool"}, {"tool_call_id", "abcdefghi"}, {"content", arguments}}}}}
      .dump();
}

TEST(LargeNumbers, OfEarlierArgumentsAndResultsReachEachProvider) {
  const std::string body = history_with(kLarge);
  EXPECT_NE(testing::sent(target_of("anthropic", "claude-sonnet-4-5"), body)
                .body.find(R"("input":)" + std::string(kLarge)),
            std::string::npos);
  const std::string gemini = testing::sent(target_of("gemini", "gemini-2.5-flash"), body).body;
  EXPECT_NE(gemini.find(R"("args":)" + std::string(kLarge)), std::string::npos) << gemini;
  EXPECT_NE(gemini.find(R"("response":)" + std::string(kLarge)), std::string::npos) << gemini;
}

std::string arguments_of(const Target& target, std::string_view body) {
  const auto reply = translation(target.preset->family).chat_reply(target, body);
  EXPECT_TRUE(reply.has_value());
  return reply ? reply->choices.at(0).tool_calls.at(0).arguments : std::string();
}

TEST(LargeNumbers, OfAProvidersCallsReachTheClient) {
  const std::string large = kLarge;
  EXPECT_EQ(arguments_of(target_of("anthropic", "claude-sonnet-4-5"),
                         R"({"content":[{"type":"tool_use","id":"t","name":"f","input":)" + large +
                             R"(}],"stop_reason":"tool_use"})"),
            large);
  const std::string candidate = R"({"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":)" +
                                large + R"(}}]},"finishReason":"STOP"}]})";
  const Target gemini = target_of("gemini", "gemini-2.5-flash");
  EXPECT_EQ(arguments_of(gemini, candidate), large);
  const auto streamed = read_stream(gemini, "data: " + candidate + "\n\n");
  ASSERT_TRUE(streamed.status.has_value());
  EXPECT_EQ(streamed.pieces.at(0).tool_calls.at(0).arguments, large);
}

TEST(LargeNumbers, OfUnknownMembersReachTheClient) {
  const auto reply =
      translation(Family::kOpenai)
          .chat_reply(target_of("vllm", "m"), R"({"choices":[{"index":0,"message":{"content":"x","odd":)" +
                                                  std::string(kLarge) + R"(},"finish_reason":"stop"}]})");
  ASSERT_TRUE(reply.has_value());
  EXPECT_NE(schemas::chat_completion_json(*reply, false).find(kLarge), std::string::npos);
}

// Tools of MCP servers have such numbers.
TEST(LargeNumbers, OfASchemasBoundsReachEachProvider) {
  const std::string large = "12345678901234567890123";
  const Json bound = {{"type", "integer"}, {"maximum", schemas::spelled_number(large)}};
  EXPECT_EQ(schemas::dump(valid_schema(bound)), schemas::dump(bound));
  schemas::ChatRequest request;
  request.body = {
      {"messages", {{{"role", "user"}, {"content", "u"}}}},
      {"tools",
       {{{"type", "function"},
         {"function",
          {{"name", "f"}, {"parameters", {{"type", "object"}, {"properties", {{"a", bound}}}}}}}}}}};
  for (const auto& [provider, model] :
       {std::pair("anthropic", "claude-sonnet-4-5"), std::pair("gemini", "gemini-2.5-flash"),
        std::pair("openai", "gpt-4.1"), std::pair("xai", "grok-4"), std::pair("vllm", "m")}) {
    const Target target = target_of(provider, model);
    for (const bool stream : {false, true}) {
      const auto wire = translation(target.preset->family).chat_request(target, request, stream);
      ASSERT_TRUE(wire) << wire.error().message;
      EXPECT_NE(wire->body.find(large), std::string::npos) << wire->body;
    }
  }
}

}  // namespace
}  // namespace millrace::providers::numbers_test
