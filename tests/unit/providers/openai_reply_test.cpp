#include <gtest/gtest.h>

#include "ai/providers/call_ids.h"
#include "ai/providers/openai/reply.h"
#include "tests/unit/providers/openai_cases.h"

namespace millrace::providers::openai_reply_test {
namespace {

using schemas::Json;
using testing::target_of;

base::Result<schemas::ChatReply> read(const Json& body) {
  return translation(Family::kOpenai).chat_reply(target_of("openai", "gpt-4o"), body.dump());
}
Json reply_with(const Json& message, const Json& finish = "stop") {
  return {
      {"id", "c-1"},
      {"object", "chat.completion"},
      {"created", 1700000000},
      {"model", "gpt-4o-2024"},
      {"service_tier", "default"},
      {"system_fingerprint", "fp"},
      {"choices", {{{"index", 0}, {"message", message}, {"finish_reason", finish}, {"logprobs", nullptr}}}},
      {"usage", {{"prompt_tokens", 1}, {"completion_tokens", 2}, {"total_tokens", 3}}}};
}

TEST(OpenaiReply, AChoiceHasNoMoreToolCallsThanTheBound) {
  Json calls = Json::array();
  for (int i = 0; i < 1'024; ++i)
    calls.push_back({{"id", "c" + std::to_string(i)}, {"function", {{"name", "f"}}}});
  EXPECT_TRUE(read(reply_with({{"tool_calls", calls}})));
  calls.push_back({{"id", "last"}, {"function", {{"name", "f"}}}});
  const auto reply = read(reply_with({{"tool_calls", calls}}));
  ASSERT_FALSE(reply);
  EXPECT_EQ(base::Code::kUpstream, reply.error().code);
  EXPECT_EQ("openai/gpt-4o sent a choice of more than 1024 tool calls", reply.error().message);
}

TEST(OpenaiReply, APlainReplyIsReadWhole) {
  const auto reply = read(reply_with({{"role", "assistant"}, {"content", "hi"}, {"refusal", nullptr}}));
  ASSERT_TRUE(reply);
  EXPECT_EQ("c-1", reply->id);
  EXPECT_EQ(1700000000, reply->created);
  EXPECT_EQ("gpt-4o-2024", reply->model);
  EXPECT_EQ("default", reply->service_tier);
  EXPECT_EQ("fp", reply->system_fingerprint);
  ASSERT_EQ(1u, reply->choices.size());
  EXPECT_EQ("hi", reply->choices[0].content);
  EXPECT_EQ(std::nullopt, reply->choices[0].refusal);
  EXPECT_EQ("stop", reply->choices[0].finish_reason);
  EXPECT_TRUE(reply->choices[0].logprobs.is_null());
  EXPECT_TRUE(reply->choices[0].extra.is_null());
  EXPECT_TRUE(reply->extra.is_null());
  EXPECT_EQ(3, reply->usage->total);
}

TEST(OpenaiReply, ToolCallsOfBothKindsAreRead) {
  const auto reply = read(
      reply_with({{"content", nullptr},
                  {"tool_calls",
                   {{{"id", "a"}, {"type", "function"}, {"function", {{"name", "f"}, {"arguments", "{}"}}}},
                    {{"id", "b"}, {"type", "custom"}, {"custom", {{"name", "g"}, {"input", "text"}}}}}}},
                 "tool_calls"));
  ASSERT_TRUE(reply);
  EXPECT_EQ((std::vector<schemas::ToolCall>{{"a", "function", "f", "{}"}, {"b", "custom", "g", "text"}}),
            reply->choices[0].tool_calls);
}

TEST(OpenaiReply, TwoCallsOfOneIdAreTwoCalls) {
  const auto call = [](const char* city, const Json& more = Json::object()) {
    Json made = {{"id", "x"}, {"type", "function"}, {"function", {{"name", "f"}, {"arguments", city}}}};
    made.update(more);
    return made;
  };
  for (const Json& index : {Json::object(), Json{{"index", 0}}}) {
    const auto reply = read(reply_with({{"tool_calls", {call("a", index), call("b", index)}}}));
    ASSERT_TRUE(reply);
    const std::vector<schemas::ToolCall>& calls = reply->choices[0].tool_calls;
    ASSERT_EQ(2u, calls.size());
    EXPECT_EQ("x", calls[0].id);
    EXPECT_TRUE(is_new_call_id(calls[1].id)) << calls[1].id;
    EXPECT_EQ("a", calls[0].arguments);
    EXPECT_EQ("b", calls[1].arguments);
    EXPECT_EQ("f", calls[1].name);
  }
}

TEST(OpenaiReply, CallsWithoutIdAndNameAreCallsToo) {
  const auto reply = read(reply_with(
      {{"tool_calls", Json::array({{{"function", Json::object()}}, {{"function", Json::object()}}})}}));
  ASSERT_TRUE(reply);
  EXPECT_EQ(2u, reply->choices[0].tool_calls.size());
}

TEST(OpenaiReply, TheDeprecatedCallOfAFunctionIsAToolCall) {
  const auto reply =
      read(reply_with({{"function_call", {{"name", "f"}, {"arguments", "{}"}}}}, "function_call"));
  ASSERT_TRUE(reply);
  ASSERT_EQ(1u, reply->choices[0].tool_calls.size());
  EXPECT_FALSE(reply->choices[0].tool_calls[0].id.empty());
  EXPECT_EQ("tool_calls", reply->choices[0].finish_reason);
}

TEST(OpenaiReply, AChoiceWithoutAMessageIsACutOne) {
  Json body = reply_with({}, "content_filter");
  body["choices"][0].erase("message");
  body["choices"][0]["content_filter_results"] = {{"hate", {{"filtered", true}}}};
  body["prompt_filter_results"] = {{{"prompt_index", 0}}};
  const auto reply = read(body);
  ASSERT_TRUE(reply);
  EXPECT_EQ(std::nullopt, reply->choices[0].content);
  EXPECT_EQ("content_filter", reply->choices[0].finish_reason);
  EXPECT_TRUE(reply->choices[0].extra.contains("content_filter_results"));
  EXPECT_TRUE(reply->extra.contains("prompt_filter_results"));
}

TEST(OpenaiReply, ACallWithoutArgumentsHasAnEmptyObjectUnlessItWasCut) {
  for (const Json& arguments : {Json(""), Json(nullptr), Json("{}")}) {
    const Json message = {
        {"tool_calls", {{{"id", "c"}, {"function", {{"name", "f"}, {"arguments", arguments}}}}}}};
    EXPECT_EQ("{}", read(reply_with(message, "tool_calls"))->choices[0].tool_calls[0].arguments);
    EXPECT_EQ("{}", read(reply_with(message, "stop"))->choices[0].tool_calls[0].arguments);
    const std::string cut = read(reply_with(message, "length"))->choices[0].tool_calls[0].arguments;
    EXPECT_EQ(arguments == "{}" ? "{}" : "", cut);
  }
  const Json custom = {{"tool_calls", {{{"id", "c"}, {"custom", {{"name", "f"}, {"input", ""}}}}}}};
  EXPECT_EQ("", read(reply_with(custom, "tool_calls"))->choices[0].tool_calls[0].arguments);
}

TEST(OpenaiReply, AnErrorInAChoiceIsTheErrorOfTheCall) {
  Json value = reply_with({{"content", "half"}}, "error");
  value["choices"][0]["error"] = {{"code", 429}, {"message", "slow down"}};
  const auto failed = read(value);
  ASSERT_FALSE(failed);
  EXPECT_EQ(base::Code::kRateLimited, failed.error().code);
  EXPECT_NE(std::string::npos, failed.error().message.find("slow down")) << failed.error().message;
  value["choices"][0]["error"] = nullptr;
  value["choices"][0]["finish_reason"] = "stop";
  EXPECT_TRUE(read(value));
}

TEST(OpenaiReply, AnErrorWithoutAStatusHasThatOfItsWord) {
  for (const auto& [word, code] : std::vector<std::pair<const char*, base::Code>>{
           {"rate_limit_exceeded", base::Code::kRateLimited},
           {"insufficient_quota", base::Code::kQuota},
           {"context_length_exceeded", base::Code::kContextLength},
           {"server_error", base::Code::kUpstream}}) {
    EXPECT_EQ(code, read({{"error", {{"message", "m"}, {"code", word}}}}).error().code) << word;
    EXPECT_EQ(code, read({{"error", {{"message", "m"}, {"type", word}}}}).error().code) << word;
  }
}

TEST(OpenaiUsage, ThatOfAChoiceCountsIfTheReplyHasNone) {
  Json value = reply_with({{"content", "x"}});
  value["choices"][0]["usage"] = {{"prompt_tokens", 7}, {"completion_tokens", 1}, {"total_tokens", 8}};
  EXPECT_EQ(3, read(value)->usage->total);
  value.erase("usage");
  EXPECT_EQ(8, read(value)->usage->total);
  EXPECT_TRUE(read(value)->choices[0].extra.is_null());
}

TEST(OpenaiReply, AReplyWithoutChoicesIsNone) {
  for (const Json& body : {Json{{"id", "x"}}, Json{{"choices", Json::array()}}, Json::array(), Json("text")})
    EXPECT_EQ(base::Code::kUpstream, read(body).error().code) << body;
}

TEST(OpenaiReply, AnErrorWithStatus200IsAnError) {
  const auto reply = read({{"error", {{"code", 503}, {"message", "no provider"}}}, {"user_id", "u"}});
  ASSERT_FALSE(reply);
  EXPECT_EQ(base::Code::kOverloaded, reply.error().code);
}

TEST(OpenaiUsage, TokensWrittenToTheCacheAreRead) {
  const Json details{{"cached_tokens", 1}, {"cache_write_tokens", 4}};
  EXPECT_EQ(4, openai_usage({{"prompt_tokens", 9}, {"prompt_tokens_details", details}})->cache_write);
  EXPECT_EQ(5, openai_usage({{"prompt_tokens", 9}, {"cache_creation_input_tokens", 5}})->cache_write);
  const Json chained{{"cache_creation_tokens", 6}};
  EXPECT_EQ(6, openai_usage({{"prompt_tokens", 9}, {"prompt_tokens_details", chained}})->cache_write);
  EXPECT_EQ(std::nullopt, openai_usage({{"prompt_tokens", 9}})->cache_write);
}

TEST(OpenaiUsage, ReasoningThatIsOnlyInTheTotalIsPartOfTheCompletion) {
  const Json details{{"reasoning_tokens", 7}};
  const auto completion = [&](int total) {
    return openai_usage({{"prompt_tokens", 10},
                         {"completion_tokens", 9},
                         {"total_tokens", total},
                         {"completion_tokens_details", details}})
        ->completion;
  };
  EXPECT_EQ(16, completion(26));
  EXPECT_EQ(9, completion(19));
}

TEST(OpenaiReply, UsageWithoutATotalIsAdded) {
  EXPECT_EQ(5, openai_usage({{"prompt_tokens", 2}, {"completion_tokens", 3}})->total);
  EXPECT_EQ(std::nullopt, openai_usage(nullptr));
}

}  // namespace
}  // namespace millrace::providers::openai_reply_test
