#include <gtest/gtest.h>

#include "ai/providers/call_ids.h"
#include "tests/unit/providers/family_cases.h"

namespace millrace::providers::gemini_messages_test {
namespace {

using schemas::Json;
using testing::refused;
using testing::sent_of;
using testing::target_of;

const Target kModel = target_of("gemini", "gemini-2.5-flash");

Json request(std::string_view messages, const Target& target = kModel) {
  return sent_of(target, std::string(R"({"messages": )").append(messages) + "}");
}

TEST(GeminiMessages, AllSystemMessagesAreTheInstruction) {
  const Json sent = request(R"([{"role": "system", "content": "one"}, {"role": "user", "content": "u"},
      {"role": "developer", "content": [{"type": "text", "text": "two"}, {"type": "text", "text": ""}]}])");
  EXPECT_EQ(sent["systemInstruction"], Json::parse(R"({"parts": [{"text": "one"}, {"text": "two"}]})"));
  EXPECT_EQ(sent["contents"], Json::parse(R"([{"role": "user", "parts": [{"text": "u"}]}])"));
}

TEST(GeminiMessages, NeighboursOfOneRoleAreOneTurn) {
  EXPECT_EQ(request(R"([{"role": "user", "content": "a"}, {"role": "user", "content": "b"},
      {"role": "assistant", "content": "c"}, {"role": "user", "content": "d"}])")["contents"],
            Json::parse(R"([{"role": "user", "parts": [{"text": "a"}, {"text": "b"}]},
      {"role": "model", "parts": [{"text": "c"}]}, {"role": "user", "parts": [{"text": "d"}]}])"));
}

const std::string kCalls = R"({"role": "assistant", "tool_calls": [
    {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{\"q\":1}"}},
    {"id": "b", "type": "function", "function": {"name": "g", "arguments": ""}}])";
const std::string kResults = R"({"role": "tool", "tool_call_id": "a", "content": "seen"},
    {"role": "tool", "tool_call_id": "b", "content": "{\"x\": 2}"})";

TEST(GeminiMessages, ResultsHaveTheNamesOfTheirCalls) {
  EXPECT_EQ(request(R"([{"role": "user", "content": "u"}, )" + kCalls + "}, " + kResults + "]")["contents"],
            Json::parse(R"([{"role": "user", "parts": [{"text": "u"}]},
      {"role": "model", "parts": [{"functionCall": {"id": "a", "name": "f", "args": {"q": 1}}},
                                  {"functionCall": {"id": "b", "name": "g", "args": {}}}]},
      {"role": "user", "parts": [
          {"functionResponse": {"id": "a", "name": "f", "response": {"result": "seen"}}},
          {"functionResponse": {"id": "b", "name": "g", "response": {"x": 2}}}]}])"));
}

std::string calls_of(const std::vector<std::string>& ids) {
  Json calls = Json::array();
  for (const std::string& id : ids)
    calls.push_back({{"id", id}, {"type", "function"}, {"function", {{"name", "f"}, {"arguments", "{}"}}}});
  return Json{{"role", "assistant"}, {"tool_calls", std::move(calls)}}.dump();
}

std::string result_of(const std::string& id, const std::string& text) {
  return Json{{"role", "tool"}, {"tool_call_id", id}, {"content", text}}.dump();
}

// The ids and texts of the results in a turn, in their order; "new" for an id that the gateway has made.
std::string results(const Json& turn) {
  std::string all;
  for (const Json& part : turn["parts"]) {
    if (!part.contains("functionResponse")) {
      all += "| ";
      continue;
    }
    const Json& result = part["functionResponse"];
    const std::string id = result.value("id", "-");
    all +=
        (id.starts_with("call_") ? "new" : id) + ":" + result["response"]["result"].get<std::string>() + " ";
  }
  return all;
}

TEST(GeminiMessages, ResultsAreInTheOrderOfTheirCalls) {
  const std::string user = R"([{"role": "user", "content": "u"}, )";
  const Json sent =
      request(user + calls_of({"A", "B", "C"}) + ", " + result_of("C", "c") + ", " + result_of("A", "a") +
              R"(, {"role": "user", "content": "and"}, )" + result_of("B", "b") + ", " +
              calls_of({"A", "D"}) + ", " + result_of("D", "d") + ", " + result_of("A", "a2") + "]");
  EXPECT_EQ(results(sent["contents"][2]), "A:a B:b C:c | ");
  EXPECT_EQ(results(sent["contents"][4]), "new:a2 D:d ");
}

TEST(GeminiMessages, ResultsOfOneIdAreInTheirOwnOrder) {
  const Json sent = request(R"([{"role": "user", "content": "u"}, )" + calls_of({"x", "y", "x"}) + ", " +
                            result_of("x", "1") + ", " + result_of("x", "3") + ", " + result_of("y", "2") +
                            ", " + result_of("x", "again") + "]");
  EXPECT_EQ(results(sent["contents"][2]), "x:1 y:2 new:3 new:again ");
}

TEST(GeminiMessages, IdsOfTheGatewayAreNotSent) {
  const std::string one = new_call_id(), two = new_call_id();
  const Json sent = request(R"([{"role": "user", "content": "u"}, )" + calls_of({one, two}) + ", " +
                            result_of(two, "2") + ", " + result_of(one, "1") + "]");
  EXPECT_EQ(results(sent["contents"][2]), "-:1 -:2 ");
  for (const Json& part : sent["contents"][1]["parts"]) EXPECT_FALSE(part["functionCall"].contains("id"));
}

TEST(GeminiMessages, ImagesOfResultsAreInTheOrderOfTheCalls) {
  const auto image = [](const std::string& id, const std::string& address) {
    return R"({"role": "tool", "tool_call_id": ")" + id +
           R"(", "content": [{"type": "text", "text": "t"}, {"type": "image_url", "image_url": {"url": ")" +
           address + R"("}}]})";
  };
  const Json sent = request(R"([{"role": "user", "content": "u"}, )" + calls_of({"A", "B"}) + ", " +
                            image("B", "https://h/b.png") + ", " + image("A", "https://h/a.png") + "]");
  EXPECT_EQ(sent["contents"][2]["parts"][2]["fileData"]["fileUri"], "https://h/a.png");
  EXPECT_EQ(sent["contents"][2]["parts"][3]["fileData"]["fileUri"], "https://h/b.png");
}

TEST(GeminiMessages, AResultWithAReferenceIsText) {
  for (const char* text : {R"({"properties": {"p": {"$ref": "#/$defs/P"}}})", R"({"$ref": "x"})",
                           R"({"a": [1, {"b": [[{"$ref": null}]]}]})"}) {
    const std::string result = Json{{"role", "tool"}, {"tool_call_id", "a"}, {"content", text}}.dump();
    const Json sent = request(R"([{"role": "user", "content": "u"}, )" + kCalls + "}, " + result + "]");
    EXPECT_EQ(sent["contents"][2]["parts"][0]["functionResponse"]["response"], Json({{"result", text}}));
  }
}

TEST(GeminiMessages, AResultOfNoCallIsRefused) {
  const base::Error error = refused(kModel, R"({"messages": [{"role": "user", "content": "u"},
      {"role": "tool", "tool_call_id": "zz", "content": "r"}]})");
  EXPECT_EQ(error.code, base::Code::kInvalidField);
  EXPECT_EQ(error.param, "messages");
}

TEST(GeminiMessages, SignaturesAreSentAgainWithTheirCalls) {
  const std::string kept = Json(R"({"provider": "gemini", "calls": {"a": "sig"}})").dump();
  const Json sent = request(R"([{"role": "user", "content": "u"}, )" + kCalls +
                            R"(, "millrace_continuity": )" + kept + "}, " + kResults + "]");
  EXPECT_EQ(sent["contents"][1]["parts"][0]["thoughtSignature"], "sig");
  EXPECT_FALSE(sent["contents"][1]["parts"][1].contains("thoughtSignature"));
}

TEST(GeminiMessages, CallsThatWereNeverSignedSkipTheCheckOfGeminiThree) {
  const Json sent =
      request(R"([{"role": "user", "content": "u"}, )" + kCalls +
                  R"(, "millrace_continuity": "{\"provider\":\"anthropic\"}"}, )" + kResults + "]",
              target_of("gemini", "gemini-3-pro-preview"));
  EXPECT_EQ(sent["contents"][1]["parts"][0]["thoughtSignature"], "skip_thought_signature_validator");
  EXPECT_FALSE(sent["contents"][1]["parts"][1].contains("thoughtSignature"));
}

TEST(GeminiMessages, ASignatureOfTheTextIsSentAgain) {
  EXPECT_EQ(request(R"([{"role": "user", "content": "u"}, {"role": "assistant", "content": "t",
      "millrace_continuity": "{\"provider\":\"gemini\",\"text\":\"sig\"}"}])")["contents"][1]["parts"],
            Json::parse(R"([{"text": "t", "thoughtSignature": "sig"}])"));
}

// An earlier reply with a text and two images, of which one is signed.
constexpr std::string_view kDrawn = R"({"messages": [{"role": "user", "content": "u"},
    {"role": "assistant", "content": "t", "extra_content": {"google": {"thought_signature": "s1"}}, "images": [
      {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"},
       "extra_content": {"google": {"thought_signature": "s2"}}},
      {"type": "image_url", "image_url": {"url": "data:image/png;base64,REVG"}}]},
    {"role": "user", "content": "v"}]})";

TEST(GeminiMessages, TheSignaturesOfImagesAndOfTheirTextAreSentAgain) {
  const Target drawing = target_of("gemini", "gemini-3-pro-image-preview");
  const Json parts = sent_of(drawing, kDrawn)["contents"][1]["parts"];
  EXPECT_EQ(parts, Json::parse(R"([{"text": "t", "thoughtSignature": "s1"},
      {"inlineData": {"mimeType": "image/png", "data": "QUJD"}, "thoughtSignature": "s2"},
      {"inlineData": {"mimeType": "image/png", "data": "REVG"},
       "thoughtSignature": "skip_thought_signature_validator"}])"));
  EXPECT_EQ(testing::dropped_of(drawing, kDrawn), "");
}

TEST(GeminiMessages, OnlyGeminiThreeNeedsASignatureWithEachImage) {
  Json unsigned_reply = Json::parse(kDrawn);
  unsigned_reply["messages"][1].erase("extra_content");
  unsigned_reply["messages"][1]["images"][0].erase("extra_content");
  const std::string body = unsigned_reply.dump();
  const Json three = sent_of(target_of("gemini", "gemini-3-pro-image-preview"), body)["contents"][1]["parts"];
  for (const Json& part : three) EXPECT_EQ(part["thoughtSignature"], "skip_thought_signature_validator");
  const Json two = sent_of(target_of("gemini", "gemini-2.5-flash-image"), body)["contents"][1]["parts"];
  for (const Json& part : two) EXPECT_FALSE(part.contains("thoughtSignature")) << part;
}

TEST(GeminiMessages, AnExtraContentWithoutASignatureIsReported) {
  EXPECT_EQ(testing::dropped_of(kModel, R"({"messages": [{"role": "user", "content": "u"},
      {"role": "assistant", "content": "t", "extra_content": {"other": 1}}]})"),
            "messages.extra_content");
}

TEST(GeminiMessages, AnotherProvidersThinkingIsLeftOutAndReported) {
  const std::string history = R"([{"role": "user", "content": "u"}, {"role": "assistant", "content": [
      {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "t"}]},
      {"role": "user", "content": "v"}])";
  EXPECT_EQ(request(history)["contents"][1], Json::parse(R"({"role": "model", "parts": [{"text": "t"}]})"));
  EXPECT_EQ(testing::dropped_of(kModel, R"({"messages": )" + history + "}"), "messages.thinking");
}

TEST(GeminiMessages, MediaGoAsBytesOrAddresses) {
  EXPECT_EQ(request(R"([{"role": "user", "content": [
      {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}},
      {"type": "image_url", "image_url": "https://h/a.webp"},
      {"type": "input_audio", "input_audio": {"data": "QUJD", "format": "wav"}},
      {"type": "file", "file": {"filename": "a.pdf", "file_data": "QUJD"}}]}])")["contents"][0]["parts"],
            Json::parse(R"([{"inlineData": {"mimeType": "image/png", "data": "QUJD"}},
      {"fileData": {"mimeType": "image/webp", "fileUri": "https://h/a.webp"}},
      {"inlineData": {"mimeType": "audio/wav", "data": "QUJD"}},
      {"inlineData": {"mimeType": "application/pdf", "data": "QUJD"}}])"));
}

TEST(GeminiMessages, AConversationBeginsWithTheUser) {
  const Json sent = request(R"([{"role": "assistant", "content": "Hi"}, {"role": "user", "content": "u"}])");
  EXPECT_EQ(sent["contents"].size(), 3U);
  EXPECT_EQ(sent["contents"][0]["role"], "user");
  EXPECT_EQ(request(R"([{"role": "system", "content": "s"}])")["contents"][0]["parts"][0]["text"], "s");
}

TEST(GeminiMessages, AnEmptyConversationIsRefused) {
  EXPECT_EQ(refused(kModel, R"({"messages": [{"role": "user", "content": ""}]})").code,
            base::Code::kInvalidField);
}

}  // namespace
}  // namespace millrace::providers::gemini_messages_test
