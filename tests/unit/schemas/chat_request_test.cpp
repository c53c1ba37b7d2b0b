#include "schemas/chat/chat_request.h"

#include <gtest/gtest.h>

#include "schemas/chat/chat_reply.h"
#include "tests/unit/schemas/both_ways.h"

namespace millrace::schemas::chat_request_test {
namespace {

using base::Code;
using schemas::Json;

tl::expected<ChatRequest, Refusal> parse(std::string body) {
  return testing::parse_both_ways(std::move(body));
}
// A request with a model, a message and these additional members.
ChatRequest with(const std::string& more) {
  auto got = parse(R"({"model":"a/b","messages":"hi")" + more + "}");
  EXPECT_TRUE(got.has_value()) << more << got.error().error.message;
  return got.has_value() ? std::move(*got) : ChatRequest{};
}
Refusal refused(const std::string& more) {
  auto got = parse(R"({"model":"a/b","messages":"hi")" + more + "}");
  EXPECT_FALSE(got.has_value()) << more;
  return got.has_value() ? Refusal{} : std::move(got.error());
}
std::vector<std::string> names(const DroppedParams& dropped) {
  std::vector<std::string> out;
  for (const DroppedParam& each : dropped) out.push_back(each.name);
  return out;
}
using Names = std::vector<std::string>;

TEST(ChatRequestBody, HoldsWhatTheModelGetsAndNothingElse) {
  const ChatRequest got = with(
      R"(,"temperature":0.5,"seed":null,"stream":true,"stream_options":{"include_usage":true},)"
      R"("max_turns":3,"deferred":false,"agent_attributes":{"speed":1},"top_a":1,"n":1,"logprobs":false)");
  EXPECT_EQ(got.models, Names{"a/b"});
  EXPECT_EQ(got.body,
            Json::parse(R"({"messages":[{"role":"user","content":"hi"}],"temperature":0.5,"top_a":1})"));
  EXPECT_EQ(got.unknown, Names{"top_a"});
  EXPECT_TRUE(got.stream && got.include_usage && !got.include_obfuscation && !got.deferred);
  EXPECT_EQ(got.max_turns, 3);
  EXPECT_EQ(got.agent_attributes.at("speed"), 1.0);
  EXPECT_TRUE(got.dropped.empty());
}

TEST(ChatRequestBody, ANumberThatWouldReachTheProviderChangedIsRefusedByItsPlace) {
  for (
      const auto& [more, place] : std::vector<std::pair<std::string, std::string>>{
          {R"(,"temperature":1e400)", "temperature"},
          {R"(,"odd":{"x":[1e999]})", "odd.x.0"},
          {R"(,"tools":[{"type":"function","function":{"name":"f","parameters":{"maximum":12345678901234567890123}}}])",
           "tools.0.function.parameters.maximum"}}) {
    const Refusal refusal = refused(more);
    EXPECT_EQ(refusal.error.code, Code::kBadRequest) << more;
    EXPECT_EQ(refusal.error.param, place);
  }
}

TEST(ChatRequestBody, AModelMayBeAListOrHaveSettings) {
  EXPECT_EQ(parse(R"({"model":["a","b"],"messages":"x"})")->models, (Names{"a", "b"}));
  const auto got = parse(
      R"({"model":{"model":"a","settings":{"temperature":1,"top_p":0.5,"model":"z"}},"messages":"x","top_p":0.1})");
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(got->models, Names{"a"});
  EXPECT_EQ(got->body["temperature"], 1);
  EXPECT_EQ(got->body["top_p"], 0.1);
  const auto wrong = parse(R"({"model":{"model":"a","settings":{"temperature":9}},"messages":"x"})");
  ASSERT_FALSE(wrong.has_value());
  EXPECT_EQ(wrong.error().error.param, "temperature");
}

TEST(ChatRequestBody, ReservedParametersAreReported) {
  EXPECT_EQ(
      names(
          with(
              R"(,"guardrails":[{}],"handoff_config":{},"handoff_mode":"x","credentials":[],"deferred_calls":[{}],)"
              R"("correlation_id":"c","priority":5,"stream":true,"stream_options":{"other":1})")
              .dropped),
      (Names{"guardrails", "handoff_config", "handoff_mode", "credentials", "deferred_calls",
             "correlation_id", "priority", "stream_options.other"}));
}

TEST(ChatRequestBody, APriorityIsForDeferredRequests) {
  const ChatRequest got = with(R"(,"deferred":true,"priority":-100)");
  EXPECT_EQ(got.priority, -100);
  EXPECT_TRUE(got.dropped.empty());
  EXPECT_EQ(refused(R"(,"deferred":true,"priority":101)").error.param, "priority");
}

TEST(ChatRequestBody, TheNewNameOfTheTokenBoundWins) {
  EXPECT_EQ(with(R"(,"max_tokens":5)").body["max_completion_tokens"], 5);
  const ChatRequest both = with(R"(,"max_tokens":5,"max_completion_tokens":6)");
  EXPECT_EQ(both.body["max_completion_tokens"], 6);
  EXPECT_FALSE(both.body.contains("max_tokens"));
  EXPECT_EQ(names(both.dropped), Names{"max_tokens"});
}

TEST(ChatRequestBody, StopIsAList) {
  EXPECT_EQ(with(R"(,"stop":"x")").body["stop"], Json::array({"x"}));
  EXPECT_FALSE(with(R"(,"stop":[])").body.contains("stop"));
}

TEST(ChatRequestBody, PlainTextIsNoFormat) {
  const ChatRequest plain = with(R"(,"response_format":{"type":"text"})");
  EXPECT_FALSE(plain.needs_format || plain.body.contains("response_format"));
  EXPECT_TRUE(with(R"(,"response_format":{"type":"json_object"})").needs_format);
}

TEST(ChatRequestBody, AnySayingNoStopsTheExecutionOfTools) {
  EXPECT_TRUE(with("").execute_tools);
  for (const char* no : {R"(,"auto_execute_tools":false)", R"(,"automatic_tool_execution":false)",
                         R"(,"disable_automatic_function_calling":true)"}) {
    const ChatRequest got = with(no);
    EXPECT_FALSE(got.execute_tools) << no;
    EXPECT_EQ(got.body.size(), 1u) << no;
    EXPECT_TRUE(got.unknown.empty()) << no;
  }
}

TEST(ChatRequestBody, MistralsWordForARequiredToolIsOpenais) {
  const std::string tools = R"(,"tools":[{"type":"function","function":{"name":"f"}}])";
  EXPECT_EQ(with(tools + R"(,"tool_choice":"any")").body["tool_choice"], "required");
}

TEST(ChatRequestBody, KnowsWhetherStreamOptionsWereGiven) {
  EXPECT_FALSE(with(R"(,"stream":true)").has_stream_options);
  EXPECT_FALSE(with(R"(,"stream":true,"stream_options":null)").has_stream_options);
  EXPECT_TRUE(with(R"(,"stream":true,"stream_options":{})").has_stream_options);
}

TEST(ChatRequestBody, TheOldFormOfFunctionsBecomesTools) {
  const ChatRequest got =
      with(R"(,"functions":[{"name":"f","parameters":{"type":"object"}}],"function_call":{"name":"f"})");
  EXPECT_TRUE(got.old_functions);
  EXPECT_EQ(got.body["tools"],
            Json::parse(R"([{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}])"));
  EXPECT_EQ(got.body["tool_choice"], Json::parse(R"({"type":"function","function":{"name":"f"}})"));
  EXPECT_FALSE(got.body.contains("functions") || got.body.contains("function_call"));
  const ChatRequest both = with(
      R"(,"functions":[{"name":"f"}],"tools":[{"type":"function","function":{"name":"g"}}],"tool_choice":"auto")");
  EXPECT_FALSE(both.old_functions);
  EXPECT_EQ(both.body["tools"][0]["function"]["name"], "g");
  EXPECT_EQ(names(both.dropped), Names{"functions"});
}

TEST(ChatRequestBody, ATextOrAFlagOfAToolThatIsNullIsLeftOut) {
  const std::string function =
      R"({"name":"f","description":null,"strict":null,"parameters":{"type":"object"}})";
  const Json expected =
      Json::parse(R"([{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}])");
  EXPECT_EQ(with(R"(,"tools":[{"type":"function","function":)" + function + "}]").body["tools"], expected);
  EXPECT_EQ(with(R"(,"functions":[)" + function + "]").body["tools"], expected);
}

TEST(ChatRequestBody, ServersOfToolsAreRead) {
  const ChatRequest got = with(R"(,"mcp_servers":["https://e.org/mcp",{"slug":"s","version":"2","other":1}],)"
                               R"("tool_choice":{"type":"function","function":{"name":"s__f"}})");
  ASSERT_EQ(got.mcp_servers.size(), 2u);
  EXPECT_EQ(got.mcp_servers[0].url, "https://e.org/mcp");
  EXPECT_EQ(got.mcp_servers[1].slug, "s");
  EXPECT_EQ(got.mcp_servers[1].version, "2");
  EXPECT_EQ(names(got.dropped), Names{"mcp_servers.other"});
}

TEST(ChatRequestRules, ParametersThatNeedAnotherAreRefusedWithoutIt) {
  const std::pair<const char*, const char*> table[] = {
      {R"(,"stream_options":{})", "stream_options"},
      {R"(,"stream":false,"stream_options":{"include_usage":true})", "stream_options"},
      {R"(,"top_logprobs":3)", "top_logprobs"},
      {R"(,"logprobs":false,"top_logprobs":3)", "top_logprobs"},
      {R"(,"modalities":["text","audio"])", "audio"},
      {R"(,"tool_choice":{"type":"function","function":{"name":"f"}})", "tool_choice"},
      {R"(,"n":2,"mcp_servers":["s"])", "n"},
  };
  for (const auto& [more, param] : table) {
    const Refusal got = refused(more);
    EXPECT_EQ(got.error.code, Code::kInvalidField) << more;
    EXPECT_EQ(got.error.param, param) << more;
  }
}

TEST(ChatRequestRules, ADeferredStreamIsABadRequest) {
  const Refusal got = refused(R"(,"deferred":true,"stream":true)");
  EXPECT_EQ(got.error.code, Code::kBadRequest);
  EXPECT_EQ(got.error.param, "deferred");
  EXPECT_TRUE(got.problems.empty());
}

TEST(ChatRequestRules, WhatIsNoJsonIsABadRequest) {
  const auto got = parse("{");
  ASSERT_FALSE(got.has_value());
  EXPECT_EQ(got.error().error.code, Code::kBadRequest);
}

TEST(ChatRequestRules, ManyProblemsAreBounded) {
  Json many = Json::array();
  for (int i = 0; i < 1000; ++i) many.push_back({{"role", "user"}, {"content", {{{"no", 1}}}}});
  const auto got = parse(Json{{"model", "a"}, {"messages", many}}.dump());
  ASSERT_FALSE(got.has_value());
  EXPECT_EQ(got.error().problems.size(), kProblemsMax);
}

TEST(ChatRequestSpec, GivesTheSameRequestBack) {
  ChatRequest request = with(
      R"(,"deferred":true,"priority":7,"max_turns":4,"functions":[{"name":"f"}],"top_a":1,"max_tokens":2,)"
      R"("mcp_servers":[{"slug":"s","version":"1","name":"n"}],"model_attributes":{"a/b":{"x":0.5}},)"
      R"("agent_attributes":{"x":1},"response_format":{"type":"json_object"},"guardrails":[],)"
      R"("auto_execute_tools":false)");
  request.strict = true;
  const std::string spec = chat_spec(request);
  const auto back = chat_request_from_spec(spec);
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(chat_spec(*back), spec);
  EXPECT_EQ(back->body, request.body);
  EXPECT_EQ(back->priority, 7);
  EXPECT_EQ(back->dropped, request.dropped);
  EXPECT_EQ(back->mcp_servers[0].name, "n");
  EXPECT_TRUE(back->strict && back->old_functions && back->needs_format && !back->execute_tools);
}

TEST(ChatRequestSpec, TextThatIsNoSpecIsAnError) {
  for (const char* text : {"", "{}", "[]", R"({"v":2})", R"({"v":1})", R"({"v":1,"models":7})"})
    EXPECT_FALSE(chat_request_from_spec(text).has_value()) << text;
}

TEST(ChatRequestTurn, GoesOnWithTheCallsAndTheirResults) {
  ChatRequest request = with("");
  ChatChoice answer;
  answer.tool_calls = {{.id = "c", .name = "f", .arguments = "{}"}};
  answer.reasoning_state = "opaque";
  append_turn(request, answer, {{.call_id = "c", .text = "42"}});
  EXPECT_EQ(
      request.body["messages"],
      Json::parse(R"([{"role":"user","content":"hi"},{"role":"assistant","millrace_continuity":"opaque",)"
                  R"("tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},)"
                  R"({"role":"tool","tool_call_id":"c","content":"42"}])"));
}

}  // namespace
}  // namespace millrace::schemas::chat_request_test
