#include <set>

#include <gtest/gtest.h>

#include "ai/providers/anthropic/messages.h"
#include "tests/unit/providers/family_cases.h"

namespace millrace::providers::anthropic_request_test {
namespace {

using testing::dropped_of;
using testing::refused;
using testing::sent;
using testing::sent_of;
using testing::target_of;

const Target kClassic = target_of("anthropic", "claude-3-5-haiku-20241022");

TEST(AnthropicRequest, APlainQuestionHasItsModelItsLimitAndItsTurn) {
  const WireRequest wire = sent(kClassic, R"({})");
  EXPECT_EQ(wire.body, R"({"model":"claude-3-5-haiku-20241022","messages":[{"role":"user","content":)"
                       R"([{"type":"text","text":"hello"}]}],"max_tokens":8192})");
  EXPECT_EQ(wire.path, "/v1/messages");
  const std::vector<std::pair<std::string, std::string>> headers = {{"Content-Type", "application/json"},
                                                                    {"anthropic-version", "2023-06-01"}};
  EXPECT_EQ(wire.headers, headers);
  EXPECT_TRUE(wire.dropped.empty());
}

TEST(AnthropicRequest, TheVersionIsInThePathOnceWhateverTheBaseUrl) {
  EXPECT_EQ(sent(target_of("anthropic", "m", "http://h:1/v1"), "{}").path, "/messages");
  EXPECT_EQ(sent(target_of("anthropic", "m", "http://h:1/v1beta"), "{}").path, "/messages");
  EXPECT_EQ(sent(target_of("anthropic", "m", "http://h:1"), "{}").path, "/v1/messages");
  EXPECT_EQ(sent(target_of("anthropic", "m", "http://h:1/vertex"), "{}").path, "/v1/messages");
}

TEST(AnthropicRequest, AStreamIsRequestedByAMember) {
  EXPECT_EQ(sent_of(kClassic, "{}", true)["stream"], true);
  EXPECT_FALSE(sent_of(kClassic, "{}").contains("stream"));
}

TEST(AnthropicRequest, TheKeyGoesIntoItsOwnHeader) {
  const auto [name, value] = translation(Family::kAnthropic).credential(base::Secret("sk-a"));
  EXPECT_EQ(name, "x-api-key");
  EXPECT_EQ(value, "sk-a");
}

TEST(AnthropicRequest, TheLimitIsTheClientsTheOperatorsOrTheModels) {
  EXPECT_EQ(sent_of(kClassic, R"({"max_completion_tokens": 7})")["max_tokens"], 7);
  EXPECT_EQ(sent_of(target_of("anthropic", "claude-sonnet-4-5"), "{}")["max_tokens"], 64'000);
  EXPECT_EQ(sent_of(target_of("anthropic", "claude-opus-4-1-20250805"), "{}")["max_tokens"], 32'000);
  Target bounded = kClassic;
  bounded.output_max = 1'000;
  EXPECT_EQ(sent_of(bounded, "{}")["max_tokens"], 1'000);
  EXPECT_EQ(sent_of(bounded, R"({"max_completion_tokens": 5000})")["max_tokens"], 1'000);
  EXPECT_EQ(dropped_of(bounded, R"({"max_completion_tokens": 5000})"), "max_completion_tokens;clamped");
}

TEST(AnthropicRequest, ATemperatureAboveOneIsCutAndReported) {
  EXPECT_EQ(sent_of(kClassic, R"({"temperature": 1.5})")["temperature"], 1.0);
  EXPECT_EQ(dropped_of(kClassic, R"({"temperature": 1.5})"), "temperature;clamped");
  EXPECT_EQ(dropped_of(kClassic, R"({"temperature": 0.5, "top_p": 0.5, "top_k": 4})"), "");
}

TEST(AnthropicRequest, ModelsWithoutSamplingHaveItDropped) {
  const Target newest = target_of("anthropic", "claude-opus-4-7");
  EXPECT_EQ(dropped_of(newest, R"({"temperature": 0.5, "top_p": 0.5, "top_k": 4})"),
            "temperature, top_p, top_k");
  EXPECT_FALSE(sent_of(newest, R"({"temperature": 0.5})").contains("temperature"));
  EXPECT_EQ(dropped_of(target_of("anthropic", "claude-sonnet-4-5"), R"({"temperature": 0.5, "top_p": 0.5})"),
            "top_p");
}

TEST(AnthropicRequest, StopSequencesOfWhiteSpaceAloneAreLeftOut) {
  EXPECT_EQ(sent_of(kClassic, R"({"stop": ["END", "\n"]})")["stop_sequences"], schemas::Json({"END"}));
  EXPECT_EQ(dropped_of(kClassic, R"({"stop": ["END", "\n"]})"), "stop;clamped");
  EXPECT_EQ(dropped_of(kClassic, R"({"stop": [" "]})"), "stop");
}

TEST(AnthropicRequest, AFormatIsSentToModelsThatKnowIt) {
  const std::string chosen =
      R"({"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "object",
      "properties": {"q": {"type": "string"}}}}}})";
  EXPECT_EQ(sent_of(target_of("anthropic", "claude-haiku-4-5"), chosen)["output_config"],
            schemas::Json::parse(R"({"format": {"type": "json_schema", "schema": {"type": "object",
      "properties": {"q": {"type": "string"}}, "additionalProperties": false}}})"));
  EXPECT_EQ(dropped_of(kClassic, R"({"response_format": {"type": "text"}})"), "");
}

TEST(AnthropicRequest, AFormatThatCannotBeSentIsInTheSystemPrompt) {
  schemas::Json wide = {{"type", "object"}, {"properties", schemas::Json::object()}};
  for (int i = 0; i < 25; ++i) wide["properties"]["p" + std::to_string(i)] = {{"type", "string"}};
  const auto itself = schemas::Json::parse(R"({"type": "object", "properties": {"next": {"$ref": "#"}}})");
  const Target recent = target_of("anthropic", "claude-sonnet-4-5");
  for (const auto& [target, schema] :
       {std::pair(recent, wide), std::pair(recent, itself), std::pair(kClassic, itself)}) {
    const schemas::Json format = {{"name", "n"}, {"strict", true}, {"schema", schema}};
    schemas::Json body = {{"response_format", {{"type", "json_schema"}, {"json_schema", format}}}};
    body["messages"] = {{{"role", "system"}, {"content", "Be brief."}}, {{"role", "user"}, {"content", "x"}}};
    const schemas::Json wire = sent_of(target, body.dump());
    EXPECT_FALSE(wire.contains("output_config"));
    ASSERT_EQ(wire["system"].size(), 2U);
    EXPECT_TRUE(wire["system"][1]["text"].get<std::string>().ends_with(" JSON Schema: " + schema.dump()));
    EXPECT_EQ(dropped_of(target, body.dump()), "response_format;clamped");
    body.erase("messages");
    EXPECT_EQ(sent_of(target, body.dump())["system"].size(), 1U);
  }
  EXPECT_EQ(dropped_of(recent, R"({"response_format": {"type": "json_object"}})"), "response_format");
}

schemas::Json user_id(const std::string& parameter, const std::string& user) {
  return sent_of(kClassic, schemas::Json{{parameter, user}}.dump())["metadata"]["user_id"];
}

TEST(AnthropicRequest, TheUserIsMetadata) {
  for (const char* user : {"u1", "customer-4711", "550e8400-e29b-41d4-a716-446655440000", "7", "123456"}) {
    EXPECT_EQ(user_id("user", user), user);
    EXPECT_EQ(dropped_of(kClassic, schemas::Json{{"user", user}}.dump()), "");
  }
  EXPECT_EQ(sent_of(kClassic, R"({"safety_identifier": "s"})")["metadata"]["user_id"], "s");
  EXPECT_EQ(dropped_of(kClassic, R"({"user": "u", "safety_identifier": "s"})"), "user");
}

// A hash has the sixty-four characters that Anthropic takes at most.
TEST(AnthropicRequest, UsersWithPersonalDataOrLongNamesAreHashed) {
  std::set<std::string> sent;
  const std::vector<std::string> users{
      "someone@example.com", "+1 415 555 2671",    "(415) 555-2671",          "4155552671", "Jane Doe",
      "Jane\tDoe",           std::string(65, 'u'), std::string(65, 'u') + "v"};
  for (const std::string& user : users) {
    const std::string id = user_id("user", user);
    EXPECT_EQ(id.size(), 64U) << user;
    EXPECT_EQ(id.find_first_not_of("0123456789abcdef"), std::string::npos) << id;
    EXPECT_EQ(id, user_id("safety_identifier", user));
    EXPECT_EQ(dropped_of(kClassic, schemas::Json{{"user", user}}.dump()), "user;clamped");
    EXPECT_EQ(dropped_of(kClassic, schemas::Json{{"safety_identifier", user}}.dump()),
              "safety_identifier;clamped");
    sent.insert(id);
  }
  EXPECT_EQ(sent.size(), users.size());
}

TEST(AnthropicRequest, TheHashOfAUserIsAnotherForEachTenant) {
  schemas::ChatRequest request = testing::request_of({{"user", "someone@example.com"}});
  const auto body = [&](const char* tenant) {
    request.tenant = tenant;
    return translation(Family::kAnthropic).chat_request(kClassic, request, false)->body;
  };
  EXPECT_EQ(body("a"), body("a"));
  EXPECT_NE(body("a"), body("b"));
}

TEST(AnthropicRequest, TiersAreSentByAnthropicsNames) {
  EXPECT_EQ(sent_of(kClassic, R"({"service_tier": "auto"})")["service_tier"], "auto");
  EXPECT_EQ(sent_of(kClassic, R"({"service_tier": "default"})")["service_tier"], "standard_only");
  EXPECT_EQ(dropped_of(kClassic, R"({"service_tier": "flex"})"), "service_tier");
}

TEST(AnthropicRequest, SeveralAnswersAreOneHereAndEmulated) {
  schemas::ChatRequest request = testing::request_of(schemas::Json::parse(R"({"n": 3})"));
  request.n = 3;
  const auto wire = translation(Family::kAnthropic).chat_request(kClassic, request, false);
  EXPECT_EQ(schemas::dropped_text(wire->dropped), "n;emulated");
  EXPECT_EQ(wire->body.find("\"n\""), std::string::npos);
}

TEST(AnthropicRequest, WhatAnthropicHasNotIsReportedByName) {
  EXPECT_EQ(
      dropped_of(kClassic, R"({"seed": 1, "logprobs": true, "presence_penalty": 1, "logit_bias": {"1": 1},
      "generation_config": {"topK": 1}, "verbosity": "low", "surprise": 1})"),
      "seed, logprobs, presence_penalty, logit_bias, generation_config, verbosity, surprise");
}

TEST(AnthropicRequest, EveryParameterOfTheTableIsSentOrReported) {
  testing::expect_none_lost(target_of("anthropic", "claude-sonnet-4-5"));
  testing::expect_none_lost(target_of("anthropic", "claude-opus-4-7"));
  testing::expect_none_lost(target_of("anthropic", "claude-3-haiku-20240307"));
}

TEST(AnthropicRequest, AFileOfTheirsNamesItsBeta) {
  const WireRequest wire = sent(kClassic, R"({"messages": [{"role": "user", "content": [
      {"type": "file", "file": {"file_id": "file_1"}}]}]})");
  const std::pair<std::string, std::string> beta = {"anthropic-beta", "files-api-2025-04-14"};
  EXPECT_EQ(wire.headers.back(), beta);
}

}  // namespace
}  // namespace millrace::providers::anthropic_request_test
