#include <gtest/gtest.h>

#include "ai/providers/anthropic/messages.h"
#include "tests/unit/providers/family_cases.h"

namespace millrace::providers::anthropic_messages_test {
namespace {

using schemas::Json;
using testing::dropped_of;
using testing::refused;
using testing::sent_of;
using testing::target_of;

const Target kModel = target_of("anthropic", "claude-sonnet-4-5");

Json turns(std::string_view messages) {
  return sent_of(kModel, std::string(R"({"messages": )").append(messages) + "}")["messages"];
}

TEST(AnthropicMessages, SystemAndDeveloperMessagesAreTheSystemInTheirOrder) {
  const Json sent = sent_of(kModel, R"({"messages": [
      {"role": "system", "content": "one"},
      {"role": "developer", "content": [
          {"type": "text", "text": "two", "cache_control": {"type": "ephemeral"}}, {"type": "text", "text": " "}]},
      {"role": "user", "content": "three"}]})");
  EXPECT_EQ(sent["system"], Json::parse(R"([
      {"type": "text", "text": "one"},
      {"type": "text", "text": "two", "cache_control": {"type": "ephemeral"}}])"));
  EXPECT_EQ(sent["messages"],
            Json::parse(R"([{"role": "user", "content": [{"type": "text", "text": "three"}]}])"));
}

TEST(AnthropicMessages, NeighboursOfOneRoleAreOneTurn) {
  EXPECT_EQ(turns(R"([{"role": "user", "content": "a"}, {"role": "user", "content": "b"},
                      {"role": "assistant", "content": "c"}, {"role": "assistant", "content": "d "}])"),
            Json::parse(R"([
      {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
      {"role": "assistant", "content": [{"type": "text", "text": "c"}, {"type": "text", "text": "d"}]}])"));
}

TEST(AnthropicMessages, ResultsOfToolsAreOneUserTurnThatTheyBegin) {
  EXPECT_EQ(turns(R"([{"role": "user", "content": "u"},
      {"role": "assistant", "content": "I look.", "tool_calls": [
          {"id": "a.1", "type": "function", "function": {"name": "look", "arguments": "{\"q\":1}"}},
          {"id": "b", "type": "function", "function": {"name": "look", "arguments": ""}}]},
      {"role": "tool", "tool_call_id": "a.1", "content": "seen"},
      {"role": "user", "content": "and?"},
      {"role": "tool", "tool_call_id": "b", "content": ""}])"),
            Json::parse(R"([
      {"role": "user", "content": [{"type": "text", "text": "u"}]},
      {"role": "assistant", "content": [{"type": "text", "text": "I look."},
          {"type": "tool_use", "id": "a_2e1", "name": "look", "input": {"q": 1}},
          {"type": "tool_use", "id": "b", "name": "look", "input": {}}]},
      {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a_2e1", "content": "seen"},
          {"type": "tool_result", "tool_use_id": "b"}, {"type": "text", "text": "and?"}]}])"));
}

TEST(AnthropicMessages, ATurnThatWasPausedGoesBackAsItCame) {
  const Json blocks =
      Json::parse(R"([{"type": "text", "text": "a", "citations": [{"url": "https://a.example"}]},
      {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}, {"type": "later_kind", "x": 1}])");
  const std::string state = Json{{"provider", "anthropic"}, {"blocks", blocks}}.dump();
  Json message = {{"role", "assistant"}, {std::string(schemas::kReasoningStateMember), state}};
  const auto content = [&] { return turns(Json::array({message}).dump())[1]["content"]; };
  EXPECT_EQ(content(), blocks);
  message["content"] = "ab";  // of the joined answer
  message["tool_calls"] =
      Json::parse(R"([{"id": "t", "type": "function", "function": {"name": "f", "arguments": "{}"}}])");
  message[schemas::kReasoningStateMember] = joined_turn(state, "", "b");
  Json expected = blocks;
  expected.push_back({{"type", "text"}, {"text", "b"}});
  expected.push_back({{"type", "tool_use"}, {"id", "t"}, {"name", "f"}, {"input", Json::object()}});
  EXPECT_EQ(content(), expected);
}

TEST(AnthropicMessages, TheStateOfAPausedTurnIsJoinedWithThatOfItsRest) {
  const auto state = [](const Json& blocks) {
    return Json{{"provider", "anthropic"}, {"blocks", blocks}}.dump();
  };
  const Json thought = {{"type", "thinking"}, {"thinking", "t"}, {"signature", "s"}},
             place = {{"type", "text"}};
  const Json first = {{"type", "text"}, {"text", "a"}}, call = {{"type", "tool_use"}, {"id", "t"}};
  const auto joined = [&](const Json& later, std::string_view text) {
    return Json::parse(
        joined_turn(state(Json::array({first})), later.is_null() ? "" : state(later), text))["blocks"];
  };
  const Json text = {{"type", "text"}, {"text", "b"}};
  EXPECT_EQ(joined(Json::array({thought, place, call, place}), "b"),
            Json::array({first, thought, text, call}));
  EXPECT_EQ(joined(Json::array({thought, place}), ""), Json::array({first, thought}));
  EXPECT_EQ(joined(nullptr, "b"), Json::array({first, text}));
  EXPECT_EQ(joined(nullptr, ""), Json::array({first}));
}

TEST(AnthropicMessages, AConversationBeginsWithTheUser) {
  const Json sent = turns(R"([{"role": "assistant", "content": "Hi"}, {"role": "user", "content": "u"}])");
  EXPECT_EQ(sent.size(), 3U);
  EXPECT_EQ(sent[0]["role"], "user");
}

TEST(AnthropicMessages, ASystemAloneIsTheUsersTurn) {
  const Json sent = sent_of(kModel, R"({"messages": [{"role": "system", "content": "s"}]})");
  EXPECT_FALSE(sent.contains("system"));
  EXPECT_EQ(sent["messages"][0]["content"][0]["text"], "s");
}

TEST(AnthropicMessages, AnEmptyConversationIsRefused) {
  const base::Error error = refused(kModel, R"({"messages": [{"role": "user", "content": "  "}]})");
  EXPECT_EQ(error.code, base::Code::kInvalidField);
  EXPECT_EQ(error.param, "messages");
}

TEST(AnthropicMessages, PicturesAndFilesHaveTheirSources) {
  EXPECT_EQ(turns(R"([{"role": "user", "content": [
      {"type": "image_url", "image_url": {"url": "data:image/PNG;base64,QUJD"}},
      {"type": "image_url", "image_url": {"url": "https://h/a.png"}},
      {"type": "image_url", "image_url": {"url": "https://h/a.pdf?x=1"}},
      {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,QUJD"}},
      {"type": "file", "file": {"filename": "a.txt", "file_data": "QUJD"}},
      {"type": "file", "file": {"file_id": "file_1"}}]}])")[0]["content"],
            Json::parse(R"([
      {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"}},
      {"type": "image", "source": {"type": "url", "url": "https://h/a.png"}},
      {"type": "document", "source": {"type": "url", "url": "https://h/a.pdf?x=1"}},
      {"type": "document", "title": "a.pdf",
       "source": {"type": "base64", "media_type": "application/pdf", "data": "QUJD"}},
      {"type": "document", "title": "a.txt", "source": {"type": "text", "media_type": "text/plain", "data": "ABC"}},
      {"type": "document", "source": {"type": "file", "file_id": "file_1"}}])"));
}

TEST(AnthropicMessages, ADataUriIsReadInEveryCaseThatARequestMayHave) {
  EXPECT_EQ(turns(R"([{"role": "user", "content": [
      {"type": "image_url", "image_url": {"url": "DATA:image/PNG;name=a;BASE64,QUJD"}}]}])")[0]["content"][0]
                                                                                            ["source"],
            Json::parse(R"({"type": "base64", "media_type": "image/png", "data": "QUJD"})"));
}

TEST(AnthropicMessages, SoundAndOddPartsAreRefused) {
  EXPECT_EQ(refused(kModel, R"({"messages": [{"role": "user", "content": [
      {"type": "input_audio", "input_audio": {"data": "QUJD", "format": "wav"}}]}]})")
                .code,
            base::Code::kInvalidField);
  EXPECT_EQ(refused(kModel, R"({"messages": [{"role": "user", "content": [{"type": "hologram"}]}]})").param,
            "messages");
  EXPECT_EQ(refused(kModel, R"({"messages": [{"role": "user", "content": [
      {"type": "image_url", "image_url": {"url": "data:image/png,raw"}}]}]})")
                .code,
            base::Code::kInvalidField);
}

TEST(AnthropicMessages, TheNameOfAFileThatIsNoTextIsCutBetweenCharacters) {
  std::string name = "a";
  for (int i = 0; i < 100; ++i) name += "ü";
  const base::Error error =
      refused(kModel, R"({"messages": [{"role": "user", "content": [
      {"type": "file", "file": {"filename": ")" +
                          name + R"(", "file_data": "data:text/plain;base64,/w=="}}]}]})");
  EXPECT_NE(error.message.find("the file '" + name.substr(0, 127) + "' is"), std::string::npos)
      << error.message;
}

TEST(AnthropicMessages, NamesAndDetailAreReported) {
  EXPECT_EQ(dropped_of(kModel, R"({"messages": [{"role": "user", "name": "bob", "content": [
      {"type": "image_url", "image_url": {"url": "https://h/a.png", "detail": "high"}}]}]})"),
            "messages.name, messages.detail");
}

TEST(AnthropicMessages, AnotherProvidersThinkingIsLeftOutAndReported) {
  const std::string messages = R"([{"role": "user", "content": "u"}, {"role": "assistant", "content": [
      {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "t"}]},
      {"role": "user", "content": "v"}])";
  EXPECT_EQ(turns(messages)[1],
            Json::parse(R"({"role": "assistant", "content": [{"type": "text", "text": "t"}]})"));
  EXPECT_EQ(dropped_of(kModel, R"({"messages": )" + messages + "}"), "messages.thinking");
}

TEST(AnthropicMessages, ThinkingIsSentAgainWhereItStood) {
  const std::string kept = Json(R"({"provider": "anthropic", "blocks": [
      {"type": "thinking", "thinking": "hm", "signature": "sig"}, {"type": "text"},
      {"type": "redacted_thinking", "data": "xx"}, {"type": "tool_use", "id": "b"}]})")
                               .dump();
  const Json answer = turns(R"([{"role": "user", "content": "u"},
      {"role": "assistant", "content": "t", "millrace_continuity": )" +
                            kept + R"(, "tool_calls": [
          {"id": "b", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
      {"role": "tool", "tool_call_id": "b", "content": "r"}])")[1];
  EXPECT_EQ(answer, Json::parse(R"({"role": "assistant", "content": [
      {"type": "thinking", "thinking": "hm", "signature": "sig"}, {"type": "text", "text": "t"},
      {"type": "redacted_thinking", "data": "xx"},
      {"type": "tool_use", "id": "b", "name": "f", "input": {}}]})"));
}

TEST(AnthropicMessages, AnotherProvidersContinuityIsIgnored) {
  const Json answer = turns(R"([{"role": "user", "content": "u"}, {"role": "assistant", "content": "t",
      "millrace_continuity": "{\"provider\":\"gemini\",\"text\":\"s\"}"}])")[1];
  EXPECT_EQ(answer, Json::parse(R"({"role": "assistant", "content": [{"type": "text", "text": "t"}]})"));
}

TEST(AnthropicMessages, ArgumentsThatAreNoObjectStandInOne) {
  const Json answer = turns(R"([{"role": "user", "content": "u"}, {"role": "assistant", "tool_calls": [
      {"id": "b", "type": "function", "function": {"name": "f", "arguments": "{\"cut"}}]}])")[1];
  EXPECT_EQ(answer["content"][0]["input"], Json::parse(R"({"arguments": "{\"cut"})"));
}

}  // namespace
}  // namespace millrace::providers::anthropic_messages_test
