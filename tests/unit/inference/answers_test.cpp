#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "ai/inference/chat/chat.h"
#include "tests/unit/inference/chat_fixture.h"
#include "tests/unit/inference/scripted_upstream.h"

// Handling of upstream responses: they are validated against the request's schema and get our model name, and
// long ones are parsed off the loop. Also the handling of a refused key.
namespace millrace::inference {
namespace {

using base::Code;
using schemas::Json;
using testing::ChatFixture;
using testing::chunk;
using testing::completion;
using testing::event_stream;
using testing::http;
using testing::Received;
using testing::ScriptedUpstream;

ModelSettings served_by(const std::vector<const ScriptedUpstream*>& upstreams) {
  ModelSettings settings;
  for (const ScriptedUpstream* each : upstreams) {
    ModelRow row =
        testing::row(std::string(1, static_cast<char>('a' + settings.models.size())) + "/m", "openai");
    row.target.base_url = each->base_url();
    row.target.key = base::Secret("sk-very-secret-key");
    row.price = Price{.prompt = 1'000'000, .completion = 0, .cached = {}};
    settings.models.push_back(std::move(row));
  }
  return settings;
}

// Requests an object with a number `n`.
schemas::ChatRequest strict_request() {
  schemas::ChatRequest request = testing::request("a/m");
  request.needs_format = true;
  request.body["response_format"] = Json::parse(
      R"({"type":"json_schema","json_schema":{"name":"x","strict":true,"schema":{"type":"object",)"
      R"("required":["n"],"properties":{"n":{"type":"integer"}}}}})");
  return request;
}
const std::string kWrong = completion(R"({\"n\":\"two\"})"), kRight = completion(R"({\"n\":2})");

std::string streamed(const std::string& content) {
  return event_stream(chunk(R"({"role":"assistant","content":")" + content + "\"}") +
                      chunk("{}", R"("stop")") + "data: [DONE]\n\n");
}

TEST(StructuredAnswers, OneThatBreaksTheSchemaIsRequestedAgainAndPaidFor) {
  ScriptedUpstream upstream({kWrong, kRight});
  Received received;
  ChatFixture dependencies(served_by({&upstream}));
  const auto end = dependencies.answer(strict_request(), received);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(R"({"n":2})", end->reply.choices.at(0).content);
  EXPECT_EQ(2, received.heads.at(0).attempts);
  EXPECT_DOUBLE_EQ(6, end->cost_usd.value());  // three tokens, twice
}

TEST(StructuredAnswers, AModelThatBreaksItEachTimeIsLeftForTheFallbackAndThenAnError) {
  ScriptedUpstream upstream({kWrong}), other({kRight});
  Received received, again;
  ChatFixture dependencies(served_by({&upstream, &other}));
  const auto end = dependencies.answer(strict_request(), received);
  ASSERT_FALSE(end);
  EXPECT_EQ(Code::kUpstream, end.error().code);
  EXPECT_EQ("response_format", end.error().param);
  EXPECT_NE(std::string::npos, end.error().message.find("$.n: should be of type \"integer\""))
      << end.error().message;
  EXPECT_EQ(3u, upstream.bodies().size());
  EXPECT_TRUE(breaks_schema(end.error()));
  ASSERT_TRUE(received.failed);
  EXPECT_EQ("a/m", received.failed->model);
  EXPECT_EQ(3, received.failed->attempts);
  EXPECT_DOUBLE_EQ(9, received.failed_cost.value());
  auto chat_request = strict_request();
  chat_request.models = {"a/m", "b/m"};
  const auto helped = dependencies.answer(chat_request, again);
  ASSERT_TRUE(helped) << helped.error().message;
  EXPECT_EQ("b/m", again.heads.at(0).model);
}

TEST(StructuredAnswers, AClientsSchemaThatNothingFitsDoesNotCloseTheModelForOthers) {
  ScriptedUpstream upstream({kWrong});
  ChatFixture dependencies(served_by({&upstream}));
  for (int i = 0; i < 4; ++i) {
    Received received;
    EXPECT_FALSE(dependencies.answer(strict_request(), received));
  }
  Received received;
  EXPECT_TRUE(dependencies.answer(testing::request("a/m"), received));
}

TEST(StructuredAnswers, AStreamThatBreaksTheSchemaEndsWithAnErrorAndIsNotRequestedAgain) {
  ScriptedUpstream upstream({streamed(R"({\"n\":\"two\"})"), streamed(R"({\"n\":2})")});
  ChatFixture dependencies(served_by({&upstream}));
  auto chat_request = strict_request();
  chat_request.stream = true;
  Received received, good;
  const auto end = dependencies.answer(chat_request, received);
  ASSERT_FALSE(end);
  EXPECT_EQ("response_format", end.error().param);
  EXPECT_EQ(R"({"n":"two"})", received.text());
  EXPECT_EQ(1u, upstream.bodies().size());
  EXPECT_TRUE(dependencies.answer(chat_request, good));
}

TEST(StructuredAnswers, WhatIsNotStrictIsPassedOnAsItIs) {
  ScriptedUpstream upstream({kWrong});
  Received received;
  ChatFixture dependencies(served_by({&upstream}));
  auto chat_request = strict_request();
  chat_request.body["response_format"]["json_schema"]["strict"] = false;
  EXPECT_TRUE(dependencies.answer(chat_request, received));
}

// Gemini before 3 gets the schema in words.
TEST(StructuredAnswers, OneThatAProviderHasInWordsBesideToolsIsCheckedWholeAndStreamed) {
  for (const bool is_stream : {false, true}) {
    for (const auto& [value, is_right] : {std::pair("2", true), std::pair("\\\"two\\\"", false)}) {
      const std::string text = R"({"candidates":[{"content":{"role":"model","parts":[{"text":"{\"n\":)" +
                               std::string(value) + R"(}"}]},"finishReason":"STOP"}],)" +
                               R"("usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1}})";
      ScriptedUpstream upstream({is_stream ? event_stream("data: " + text + "\n\n") : http(200, text)});
      ModelRow row = testing::upstream_row("a/m", upstream, "gemini");
      row.target.model = "gemini-2.5-flash";
      row.target.response_format = true;
      ChatFixture dependencies(testing::models({row}));
      schemas::ChatRequest chat_request = strict_request();
      chat_request.stream = is_stream;
      chat_request.body["response_format"]["json_schema"].erase("strict");
      chat_request.body["tools"] =
          Json::parse(R"([{"type":"function","function":{"name":"f","parameters":{"type":"object",)"
                      R"("properties":{"a":{"type":"string"}}}}}])");
      Received received;
      const auto end = dependencies.answer(chat_request, received);
      EXPECT_EQ(end.has_value(), is_right) << is_stream << value;
      EXPECT_TRUE(end || breaks_schema(end.error())) << end.error().message;
      const Json sent = Json::parse(upstream.bodies().at(0));
      EXPECT_NE(sent["systemInstruction"].dump().find("JSON Schema"), std::string::npos) << sent;
      EXPECT_FALSE(sent.contains("generationConfig")) << sent;
    }
  }
}

// Functions of Gemini have no `strict`.
TEST(StructuredAnswers, CallsOfStrictToolsAreCheckedWhereTheProviderHasNoStrictOnesWholeAndStreamed) {
  for (const bool is_stream : {false, true}) {
    for (const auto& [value, is_right] : {std::pair("2", true), std::pair("\"two\"", false)}) {
      const std::string text = R"({"candidates":[{"content":{"role":"model","parts":[{"functionCall":)"
                               R"({"name":"f","args":{"n":)" +
                               std::string(value) + R"(}}}]},"finishReason":"STOP"}],)" +
                               R"("usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1}})";
      ScriptedUpstream upstream({is_stream ? event_stream("data: " + text + "\n\n") : http(200, text)});
      ModelRow row = testing::upstream_row("a/m", upstream, "gemini");
      row.target.model = "gemini-3-pro-preview";
      ChatFixture dependencies(testing::models({row}));
      for (const bool is_strict : {true, false}) {
        schemas::ChatRequest chat_request = testing::request("a/m");
        chat_request.stream = is_stream;
        Json tool = testing::tool("f");
        tool["function"]["strict"] = is_strict;
        tool["function"]["parameters"]["properties"] = {{"n", {{"type", "integer"}}}};
        chat_request.body["tools"] = Json::array({tool});
        Received received;
        const auto end = dependencies.answer(chat_request, received);
        EXPECT_EQ(end.has_value(), is_right || !is_strict) << is_stream << value << is_strict;
        if (end) continue;
        EXPECT_TRUE(breaks_schema(end.error())) << end.error().message;
        EXPECT_EQ("tools", end.error().param);
        EXPECT_NE(std::string::npos, end.error().message.find("$.n")) << end.error().message;
      }
    }
  }
}

TEST(StructuredAnswers, ASchemaThatIsNoneIsRefusedBeforeAnyCall) {
  ScriptedUpstream upstream({kRight});
  ChatFixture dependencies(served_by({&upstream}));
  auto chat_request = strict_request();
  chat_request.body["response_format"]["json_schema"]["schema"]["type"] = "objekt";
  const base::Status verdict = dependencies.chat.check(chat_request);
  ASSERT_FALSE(verdict);
  EXPECT_EQ(Code::kInvalidField, verdict.error().code);
  EXPECT_EQ("response_format.json_schema.schema", verdict.error().param);
}

TEST(Answers, HaveOurIdAndTheNameOfTheModelInEveryForm) {
  ScriptedUpstream upstream({completion("hi")});
  Received received;
  ChatFixture dependencies(served_by({&upstream}));
  const auto end = dependencies.answer(testing::request("a/m"), received);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_TRUE(end->reply.id.starts_with("chatcmpl-")) << end->reply.id;
  EXPECT_EQ(received.heads.at(0).id, end->reply.id);
  EXPECT_EQ("a/m", end->reply.model);
}

TEST(Answers, ALongRequestAndALongAnswerAreTheSameAsShortOnes) {
  const std::string text(3 * 1024 * 1024, 'x');
  ScriptedUpstream upstream({completion(text)});
  Received received;
  ChatFixture dependencies(served_by({&upstream}));
  const auto end = dependencies.answer(testing::request("a/m", text), received);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(text, end->reply.choices.at(0).content);
  EXPECT_EQ(text, Json::parse(upstream.bodies().at(0))["messages"][0]["content"]);
}

TEST(Answers, ALongOneThatIsNoneIsAFailureOfTheUpstreamAndRequestedAgain) {
  ScriptedUpstream upstream({http(200, std::string(100'000, ' ')), completion("hi")});
  Received received;
  ChatFixture dependencies(served_by({&upstream}));
  const auto end = dependencies.answer(testing::request("a/m"), received);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(2, received.heads.at(0).attempts);
}

TEST(KeyFaults, AreNotTriedAgainAtTheSameTargetAndDoNotShowTheKey) {
  for (const int status : {401, 403}) {
    ScriptedUpstream upstream({http(status, R"({"error":{"message":"bad key sk-very-secret-key"}})")});
    Received received;
    ChatFixture dependencies(served_by({&upstream}));
    const auto end = dependencies.answer(testing::request("a/m"), received);
    ASSERT_FALSE(end);
    EXPECT_EQ(Code::kUpstream, end.error().code);
    EXPECT_EQ(1u, upstream.bodies().size());
    EXPECT_FALSE(breaks_schema(end.error()));
    ASSERT_TRUE(received.failed);
    EXPECT_EQ(1, received.failed->attempts);
    EXPECT_FALSE(received.failed_cost);
    EXPECT_NE(std::string::npos, end.error().message.find("a/m answered " + std::to_string(status)));
    EXPECT_EQ(std::string::npos, end.error().message.find("very-secret")) << end.error().message;
  }
}

TEST(KeyFaults, AreLeftForTheNextTarget) {
  ScriptedUpstream upstream({http(401, R"({"error":{"message":"no"}})")}), other({completion("hi")});
  Received received;
  ChatFixture dependencies(served_by({&upstream, &other}));
  auto chat_request = testing::request("a/m");
  chat_request.models = {"a/m", "b/m"};
  const auto end = dependencies.answer(chat_request, received);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ("b/m", received.heads.at(0).model);
  EXPECT_EQ(2, received.heads.at(0).attempts);
}

// Five consecutive failures open a breaker.
TEST(KeyFaults, AKeyThatIsRefusedClosesTheTargetAndOneThatMayNotDoOneThingDoesNot) {
  for (const int status : {401, 403}) {
    ScriptedUpstream upstream({http(status, R"({"error":{"message":"no"}})")});
    ChatFixture dependencies(served_by({&upstream}));
    for (int i = 0; i < 6; ++i) {
      Received received;
      EXPECT_FALSE(dependencies.answer(testing::request("a/m"), received));
    }
    EXPECT_EQ(status == 401 ? 5u : 6u, upstream.bodies().size());
  }
}

}  // namespace
}  // namespace millrace::inference
