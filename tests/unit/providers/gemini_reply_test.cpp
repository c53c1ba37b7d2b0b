#include <set>

#include <gtest/gtest.h>

#include "ai/providers/call_ids.h"
#include "tests/unit/providers/family_cases.h"

namespace millrace::providers::gemini_reply_test {
namespace {

using schemas::Json;
using testing::read_stream;
using testing::Streamed;
using testing::target_of;

const Target kModel = target_of("gemini", "gemini-2.5-flash");

base::Result<schemas::ChatReply> reply(std::string_view body) {
  return translation(Family::kGemini).chat_reply(kModel, body);
}
schemas::ChatChoice choice(const std::string& parts, const std::string& reason) {
  auto read = reply(R"({"candidates": [{"content": {"role": "model", "parts": )" + parts +
                    R"(}, "finishReason": ")" + reason + R"("}]})");
  EXPECT_TRUE(read.has_value());
  return read ? read->choices.at(0) : schemas::ChatChoice{};
}

TEST(GeminiReply, TwoCallsOfOneIdAreTwoCalls) {
  const char* body = R"({"candidates": [{"content": {"parts": [
      {"functionCall": {"id": "x", "name": "f", "args": {}}},
      {"functionCall": {"id": "x", "name": "g", "args": {}}}]}, "finishReason": "STOP"}]})";
  const auto read = reply(body);
  ASSERT_TRUE(read);
  ASSERT_EQ(2u, read->choices[0].tool_calls.size());
  EXPECT_EQ("x", read->choices[0].tool_calls[0].id);
  EXPECT_TRUE(is_new_call_id(read->choices[0].tool_calls[1].id));
}

TEST(GeminiReply, TextAndThoughtsAreContentAndReasoning) {
  const auto read = choice(R"([{"text": "hm", "thought": true}, {"text": "a"}, {"text": "b"}])", "STOP");
  EXPECT_EQ(read.content, "ab");
  EXPECT_EQ(read.reasoning, "hm");
  EXPECT_EQ(read.finish_reason, "stop");
  EXPECT_TRUE(read.reasoning_state.empty());
}

TEST(GeminiReply, FactsAndCountsAreOpenAis) {
  const auto read = reply(R"({"candidates": [{"content": {"parts": [{"text": "a"}]}, "finishReason": "STOP"}],
      "responseId": "r1", "modelVersion": "gemini-x", "usageMetadata": {"promptTokenCount": 10,
      "toolUsePromptTokenCount": 1, "candidatesTokenCount": 4, "thoughtsTokenCount": 6,
      "cachedContentTokenCount": 3, "totalTokenCount": 99, "serviceTier": "standard"}})");
  schemas::ChatUsage usage;
  usage.prompt = 11;
  usage.completion = 10;
  usage.total = 21;
  usage.cached = 3;
  usage.reasoning = 6;
  EXPECT_EQ(read->usage, usage);
  EXPECT_EQ(read->id, "r1");
  EXPECT_EQ(read->model, "gemini-x");
  EXPECT_EQ(read->service_tier, "default");
}

TEST(GeminiReply, CallsGetIdsOfTheirOwnAndEndAsToolCalls) {
  const auto read = choice(R"([{"functionCall": {"name": "f", "args": {"q": 1}}, "thoughtSignature": "sig"},
      {"functionCall": {"name": "f"}}, {"functionCall": {"name": "g", "id": "own", "args": {}}}])",
                           "STOP");
  ASSERT_EQ(read.tool_calls.size(), 3U);
  EXPECT_EQ(read.tool_calls[0].arguments, R"({"q":1})");
  EXPECT_EQ(read.tool_calls[1].arguments, "{}");
  EXPECT_EQ(read.tool_calls[2].id, "own");
  EXPECT_TRUE(read.tool_calls[0].id.starts_with("call_"));
  EXPECT_NE(read.tool_calls[0].id, read.tool_calls[1].id);
  EXPECT_EQ(read.finish_reason, "tool_calls");
  EXPECT_EQ(read.content, std::nullopt);
  EXPECT_EQ(Json::parse(read.reasoning_state)["calls"][read.tool_calls[0].id], "sig");
}

TEST(GeminiReply, EveryFinishReasonHasItsWord) {
  EXPECT_EQ(choice("[]", "MAX_TOKENS").finish_reason, "length");
  for (const char* word :
       {"SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY"}) {
    EXPECT_EQ(choice("[]", word).finish_reason, "content_filter") << word;
  }
  EXPECT_EQ(choice("[]", "OTHER").finish_reason, "stop");
  EXPECT_EQ(choice("[]", "STOP").content, "");
}

TEST(GeminiReply, ACallThatIsNoneIsAnError) {
  const auto read =
      reply(R"({"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": "why"}]})");
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().code, base::Code::kUpstream);
  EXPECT_NE(read.error().message.find("why"), std::string::npos);
}

TEST(GeminiReply, AnAnswerWithoutPartsIsEmptyContent) {
  const auto read =
      reply(R"({"candidates": [{"content": {"role": "model"}, "finishReason": "MAX_TOKENS"}]})");
  EXPECT_EQ(read->choices.at(0).content, "");
  EXPECT_EQ(read->choices.at(0).finish_reason, "length");
}

TEST(GeminiReply, ARefusedPromptIsAFilteredAnswer) {
  const auto read = reply(R"({"promptFeedback": {"blockReason": "SAFETY"}})");
  EXPECT_EQ(read->choices.at(0).content, "");
  EXPECT_EQ(read->choices.at(0).finish_reason, "content_filter");
}

TEST(GeminiReply, SeveralCandidatesAreSeveralChoices) {
  const auto read = reply(R"({"candidates": [{"content": {"parts": [{"text": "a"}]}, "finishReason": "STOP"},
      {"content": {"parts": [{"text": "b"}]}, "finishReason": "STOP", "index": 1}]})");
  EXPECT_EQ(read->choices.at(1).content, "b");
  EXPECT_EQ(read->choices.at(1).index, 1);
}

TEST(GeminiReply, LogprobsHaveOpenAisForm) {
  const auto read = reply(R"({"candidates": [{"content": {"parts": [{"text": "a"}]}, "finishReason": "STOP",
      "logprobsResult": {"chosenCandidates": [{"token": "a", "logProbability": -0.5}],
      "topCandidates": [{"candidates": [{"token": "a", "logProbability": -0.5}, {"token": "b", "logProbability": -2}]}]}}]})");
  EXPECT_EQ(read->choices.at(0).logprobs,
            Json::parse(R"({"content": [{"token": "a", "logprob": -0.5, "bytes": [97],
      "top_logprobs": [{"token": "a", "logprob": -0.5, "bytes": [97]}, {"token": "b", "logprob": -2, "bytes": [98]}]}],
      "refusal": null})"));
}

TEST(GeminiReply, PicturesAndSoundRideOnTheMessage) {
  EXPECT_EQ(choice(R"([{"inlineData": {"mimeType": "image/png", "data": "QUJD"}}])", "STOP").extra["images"],
            Json::parse(R"([{"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}}])"));
  EXPECT_EQ(
      choice(R"([{"inlineData": {"mimeType": "audio/L16", "data": "QUJD"}}])", "STOP").extra["audio"]["data"],
      "QUJD");
}

TEST(GeminiReply, ImagesAndATextWithoutCallsHaveTheirSignatures) {
  const Json signature = Json::parse(R"({"google": {"thought_signature": "s1"}})");
  const auto read = choice(R"([{"thought": true, "inlineData": {"mimeType": "image/png", "data": "bm8="}},
      {"text": "Here", "thoughtSignature": "s1"},
      {"inlineData": {"mimeType": "image/png", "data": "QUJD"}, "thoughtSignature": "s2"},
      {"inlineData": {"mimeType": "image/png", "data": "REVG"}}])",
                           "STOP");
  EXPECT_EQ(read.extra["extra_content"], signature);
  ASSERT_EQ(read.extra["images"].size(), 2U) << "a draft is no image of the answer";
  EXPECT_EQ(read.extra["images"][0]["extra_content"]["google"]["thought_signature"], "s2");
  EXPECT_FALSE(read.extra["images"][1].contains("extra_content"));
  const auto called = choice(R"([{"text": "Here", "thoughtSignature": "s1"},
      {"functionCall": {"name": "f", "args": {}}}])",
                             "STOP");
  EXPECT_TRUE(called.extra.is_null()) << "beside calls it is in the state";
}

TEST(GeminiReply, WhatIsNoReplyIsAnErrorOfTheUpstream) {
  for (const char* body :
       {"", "<html>", "{}", "[]", "null", R"({"candidates": []})", R"({"candidates": 3})"}) {
    const auto read = reply(body);
    ASSERT_FALSE(read.has_value()) << body;
    EXPECT_EQ(read.error().code, base::Code::kUpstream) << body;
  }
}

TEST(GeminiReply, OddMembersDoNoHarm) {
  EXPECT_EQ(choice(R"([3, null, {}, {"text": 4}, {"functionCall": 5}])", "STOP").finish_reason, "tool_calls");
}

TEST(GeminiError, ItsMessageIsReadFromAnObjectOrAList) {
  const auto& language = translation(Family::kGemini);
  EXPECT_EQ(language.error_message(R"({"error": {"code": 400, "message": "bad"}})"), "bad");
  EXPECT_EQ(language.error_message(R"([{"error": {"code": 400, "message": "bad"}}])"), "bad");
  EXPECT_EQ(language.error_message("<html>"), "");
}

Streamed stream(std::vector<std::string> data) {
  for (std::string& one : data) std::erase(one, '\n');
  return read_stream(kModel, testing::events_of(data));
}
std::string event(const std::string& parts, const std::string& more = "") {
  return R"({"candidates": [{"content": {"parts": )" + parts + "}" + more + "}]}";
}

TEST(GeminiStream, EachEventsPartsAreAPiece) {
  const Streamed read =
      stream({event(R"([{"text": "hm", "thought": true}])"), event(R"([{"text": "a"}])"),
              R"({"candidates": [{"content": {"parts": [{"text": "b"}]}, "finishReason": "STOP"}],
                                "responseId": "r1", "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 2}})"});
  ASSERT_TRUE(read.status);
  ASSERT_EQ(read.pieces.size(), 4U);
  EXPECT_EQ(read.pieces[0].reasoning, "hm");
  EXPECT_EQ(read.pieces[1].content, "a");
  EXPECT_EQ(read.pieces[2].content, "b");
  EXPECT_EQ(read.pieces[3].finish_reason, "stop");
  EXPECT_TRUE(read.complete);
  EXPECT_EQ(read.facts.usage->total, 3);
  EXPECT_EQ(read.facts.id, "r1");
}

TEST(GeminiStream, ALaterZeroDoesNotReplaceACount) {
  const std::string first = R"(}], "usageMetadata": {"promptTokenCount": 100, "candidatesTokenCount": 1,
      "cachedContentTokenCount": 40})";
  const std::string last = R"(, "finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 0,
      "candidatesTokenCount": 7, "cachedContentTokenCount": 0})";
  const std::string begin = R"({"candidates": [{"content": {"parts": [{"text": "a"}]})";
  std::vector<std::string> events{begin + first + "}", begin + last + "}"};
  for (std::string& each : events) std::erase(each, '\n');
  const Streamed read = stream(std::move(events));
  ASSERT_TRUE(read.status);
  EXPECT_EQ(read.facts.usage->prompt, 100);
  EXPECT_EQ(read.facts.usage->completion, 7);
  EXPECT_EQ(read.facts.usage->total, 107);
  EXPECT_EQ(read.facts.usage->cached, 40);
}

TEST(GeminiStream, CallsAreCountedOverTheEventsAndTheirSignaturesKept) {
  const Streamed read =
      stream({event(R"([{"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "s1"}])"),
              event(R"([{"functionCall": {"name": "g", "args": {"a": 1}}}])"),
              event(R"([{"text": "", "thoughtSignature": "s2"}])", R"(, "finishReason": "STOP")")});
  ASSERT_EQ(read.pieces.size(), 3U);
  EXPECT_EQ(read.pieces[0].tool_calls.at(0).index, 0);
  EXPECT_EQ(read.pieces[1].tool_calls.at(0).index, 1);
  EXPECT_EQ(read.pieces[1].tool_calls.at(0).arguments, R"({"a":1})");
  EXPECT_EQ(read.pieces[2].finish_reason, "tool_calls");
  const Json kept = Json::parse(read.pieces[2].reasoning_state);
  EXPECT_EQ(kept["calls"][read.pieces[0].tool_calls[0].id], "s1");
  EXPECT_EQ(kept["text"], "s2");
}

TEST(GeminiStream, ImagesAndTextsHaveTheirSignatures) {
  const Streamed read = stream(
      {event(R"([{"text": "a"}])"),
       event(R"([{"inlineData": {"mimeType": "image/png", "data": "QUJD"}, "thoughtSignature": "s1"}])"),
       event(R"([{"text": "", "thoughtSignature": "s2"}])", R"(, "finishReason": "STOP")")});
  schemas::ChatAssembly assembly;
  for (const schemas::ChatPiece& piece : read.pieces) assembly.add(piece);
  const schemas::ChatReply whole = assembly.take();
  const Json& extra = whole.choices.at(0).extra;
  EXPECT_EQ(extra["images"][0]["extra_content"]["google"]["thought_signature"], "s1");
  EXPECT_EQ(extra["extra_content"]["google"]["thought_signature"], "s2");
}

TEST(GeminiStream, TheFinishReasonIsThatOfTheWholeAnswer) {
  constexpr auto kStop = R"(, "finishReason": "STOP")";
  const Streamed called =
      stream({event(R"([{"text": "a"}])", kStop), event(R"([{"text": "b"}])", kStop),
              event(R"([{"functionCall": {"name": "f", "args": {}}}])", kStop), event("[]", kStop)});
  ASSERT_EQ(called.pieces.size(), 4U);
  EXPECT_EQ(called.pieces[1].content, "b");
  EXPECT_EQ(called.pieces[2].tool_calls.size(), 1U);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(called.pieces[i].finish_reason, "");
  EXPECT_EQ(called.pieces[3].finish_reason, "tool_calls");
  for (const char* last : {"MAX_TOKENS", "SAFETY"}) {
    const std::string cut = std::string(R"(, "finishReason": ")") + last + "\"";
    const Streamed read = stream({event(R"([{"text": "a"}])", kStop), event("[]", cut), event("[]", kStop)});
    ASSERT_EQ(read.pieces.size(), 2U) << last;
    EXPECT_EQ(read.pieces[1].finish_reason, last == std::string("SAFETY") ? "content_filter" : "length");
  }
  EXPECT_FALSE(
      stream({event("[]", kStop), event("[]", R"(, "finishReason": "MALFORMED_FUNCTION_CALL")")}).status);
}

TEST(GeminiStream, AStreamWithoutAFinishIsNotOver) {
  EXPECT_FALSE(stream({event(R"([{"text": "a"}])")}).complete);
}

TEST(GeminiStream, ARefusedPromptEndsItFiltered) {
  const Streamed read = stream({R"({"promptFeedback": {"blockReason": "SAFETY"}})"});
  EXPECT_TRUE(read.complete);
  EXPECT_EQ(read.pieces.at(0).content, "");
  EXPECT_EQ(read.pieces.at(0).finish_reason, "content_filter");
}

TEST(GeminiStream, AnErrorInTheMiddleHasItsCode) {
  const auto failed = [](int code) {
    const Streamed read =
        stream({event(R"([{"text": "a"}])"),
                R"({"error": {"code": )" + std::to_string(code) + R"(, "message": "why"}})"});
    return read.status ? base::Error{} : read.status.error();
  };
  EXPECT_EQ(failed(503).code, base::Code::kOverloaded);
  EXPECT_EQ(failed(429).code, base::Code::kRateLimited);
  EXPECT_EQ(failed(500).code, base::Code::kUpstream);
  EXPECT_EQ(failed(504).code, base::Code::kUpstreamTimeout);
  EXPECT_EQ(failed(400).code, base::Code::kBadRequest);
}

TEST(GeminiStream, WhatIsNoEventOfItIsAnError) {
  EXPECT_FALSE(stream({"[DONE]"}).status);
  EXPECT_FALSE(stream({"3"}).status);
  EXPECT_FALSE(stream({R"({"candidates": [{"index": 5000000000}]})"}).status);
}

TEST(GeminiStream, ItIsTheSameWhereverItIsCut) {
  const std::string bytes =
      testing::events_of({event(R"([{"text": "größer 😀"}])", R"(, "finishReason": "STOP")")});
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    EXPECT_EQ(read_stream(kModel, bytes, cut).pieces.at(0).content, "größer 😀") << cut;
  }
}

}  // namespace
}  // namespace millrace::providers::gemini_reply_test
