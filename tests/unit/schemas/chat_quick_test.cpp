#include "schemas/chat/chat_quick.h"

#include "schemas/chat/chat_reply.h"
#include "tests/unit/schemas/both_ways.h"
#include "tests/unit/schemas/mutilated.h"

namespace millrace::schemas::chat_quick_test {
namespace {

using schemas::Json;
using testing::mutilated;
using testing::parse_both_ways;

bool is_quick(std::string body) { return quick_chat_request(body).has_value(); }
std::string with_parameter(const std::string& more) {
  return R"({"model":"a/b","messages":[{"role":"user","content":"hi"}])" + more + "}";
}
std::string with_message(const std::string& message) {
  return R"({"model":"a/b","messages":[{"role":"user","content":"hi"},)" + message + "]}";
}

constexpr std::string_view kUsual =
    R"({"model":"openai/gpt-4o","messages":[{"role":"system","content":"Be brief."},)"
    R"({"role":"user","name":"ann","content":"a \"b\"\n\u00e9 \ud83d\ude00 ü"},)"
    R"({"role":"assistant","content":"x"}, { "content" : "y" , "role" : "developer" } ] ,)"
    R"("temperature":0.7,"top_p":1,"max_tokens":256,"presence_penalty":-2,"frequency_penalty":1e0,)"
    R"("seed":-3,"user":"u","n":1,"stream":true,"stream_options":{"include_usage":true}})";

TEST(ChatQuick, ReadsTheUsualRequestAsTheTreeDoes) {
  EXPECT_TRUE(is_quick(std::string(kUsual)));
  const auto tree = parse_both_ways(std::string(kUsual));
  ASSERT_TRUE(tree.has_value());
  EXPECT_EQ(tree->body["max_completion_tokens"], 256);
}

TEST(ChatQuick, TakesTheBodyOverAndKeepsItsBytes) {
  std::string body(kUsual);
  const auto got = quick_chat_request(body);
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(got->quick.text, kUsual);
  EXPECT_TRUE(got->body.is_null());
}

TEST(ChatQuick, ReadsParametersWithinTheirBounds) {
  for (const char* each :
       {R"(,"temperature":0)", R"(,"temperature":2)", R"(,"top_p":0.5)", R"(,"max_completion_tokens":1)",
        R"(,"seed":9223372036854775807)", R"(,"n":1)", R"(,"n":null)", R"(,"temperature":null)",
        R"(,"stream":false)", R"(,"stream":true,"stream_options":{"include_obfuscation":false})",
        " , \"top_p\" \t:\r\n 1 ", R"(,"user":"\u0041")"}) {
    EXPECT_TRUE(is_quick(with_parameter(each))) << each;
    EXPECT_TRUE(parse_both_ways(with_parameter(each)).has_value()) << each;
  }
}

TEST(ChatQuick, KnowsWhetherStreamOptionsWereGiven) {
  const auto given = [](const std::string& options) {
    std::string body = with_parameter(R"(,"stream":true)" + options);
    parse_both_ways(body);
    const auto got = quick_chat_request(body);
    return got && got->has_stream_options;
  };
  EXPECT_TRUE(given(R"(,"stream_options":{})"));
  EXPECT_FALSE(given(R"(,"stream_options":null)"));
  EXPECT_FALSE(given(""));
}

TEST(ChatQuick, LeavesEverythingElseToTheTree) {
  for (const char* each : {R"(,"temperature":2.1)",
                           R"(,"temperature":"1")",
                           R"(,"max_tokens":0)",
                           R"(,"max_tokens":1.0)",
                           R"(,"max_tokens":1,"max_completion_tokens":2)",
                           R"(,"n":2)",
                           R"(,"n":1.0)",
                           R"(,"stream":"yes")",
                           R"(,"stream":true,"stream":true)",
                           R"(,"temperature":null,"temperature":1)",
                           R"(,"stream_options":{"include_usage":true})",
                           R"(,"stream":true,"stream_options":{"x":true})",
                           R"(,"seed":92233720368547758070)",
                           R"(,"tools":[])",
                           R"(,"deferred":false)",
                           R"(,"top_a":1)",
                           R"(,"user":"\ud800")",
                           R"(,"user":"\x")",
                           R"(,"model":"c")",
                           R"(,"tem\u0070erature":1)"})
    EXPECT_FALSE(is_quick(with_parameter(each))) << each;
  for (const char* each :
       {R"({"role":"tool","content":"x","tool_call_id":"1"})", R"({"role":"user","content":null})",
        R"({"role":"user","content":[{"type":"text","text":"x"}]})", R"({"role":"user"})",
        R"({"content":"x"})", R"({"role":"user","role":"user","content":"x"})", R"("x")",
        R"({"role":"user","content":"x","millrace_continuity":"y"})"})
    EXPECT_FALSE(is_quick(with_message(each))) << each;
  EXPECT_FALSE(is_quick(R"({"model":"a/b","messages":[]})"));
  EXPECT_FALSE(is_quick(R"({"model":"","messages":[{"role":"user","content":"hi"}]})"));
  EXPECT_FALSE(is_quick(R"({"model":["a"],"messages":[{"role":"user","content":"hi"}]})"));
  EXPECT_FALSE(is_quick(R"({"messages":[{"role":"user","content":"hi"}]})"));
  EXPECT_FALSE(is_quick(with_parameter("") + " x"));
  EXPECT_FALSE(is_quick(with_parameter(R"(,"user":")" + std::string(40'000, 'u') + "\"")));
  EXPECT_FALSE(is_quick(""));
}

TEST(ChatQuick, NeverTakesWhatTheTreeRefusesNorReadsItOtherwise) {
  std::minstd_rand random(7);
  for (int round = 0; round < 20'000 && !::testing::Test::HasFailure(); ++round)
    static_cast<void>(parse_both_ways(mutilated(kUsual, random)));
}

TEST(ChatQuick, CountsTokensAsOfTheTextsThemselves) {
  std::string body(kUsual);
  const auto got = quick_chat_request(body);
  ASSERT_TRUE(got.has_value());
  std::int64_t tokens = 0;
  const Json tree = body_of(got->quick);
  for (const Json& each : tree["messages"]) tokens += estimated_tokens(each["content"].get<std::string>());
  EXPECT_EQ(estimated_tokens(got->quick), tokens);
}

}  // namespace
}  // namespace millrace::schemas::chat_quick_test
