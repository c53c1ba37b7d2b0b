#include <gtest/gtest.h>

#include "schemas/chat/chat_request.h"
#include "tests/unit/providers/family_cases.h"

// What the client sends of its own reasoning, beside the state that the gateway has kept.
namespace millrace::providers::own_reasoning_test {
namespace {

using schemas::Json;
using testing::target_of;
using testing::whole_choice;

// The assistant's message that the provider gets, if the client has sent `own` members with the message and
// `own_call` with its call.
Json sent_with(const Target& target, const schemas::ChatChoice& choice, const Json& own,
               const Json& own_call = Json::object()) {
  schemas::ChatRequest request = testing::request_of(Json::object());
  schemas::append_turn(request, choice, {{"abcdefghi", "r"}});
  Json& message = request.body["messages"][1];
  message["tool_calls"][0].erase("extra_content");
  message.update(own);
  message["tool_calls"][0].update(own_call);
  const auto wire = translation(target.preset->family).chat_request(target, request, false);
  EXPECT_TRUE(wire.has_value());
  return Json::parse(wire->body)["messages"][1];
}

TEST(OwnReasoning, TheClientsOwnReasoningCounts) {
  const Target target = target_of("openrouter", "m");
  constexpr auto kThought =
      R"("reasoning":"why","reasoning_details":[{"type":"reasoning.encrypted","data":"d","index":0}])";
  const auto choice = whole_choice(target, kThought);
  const Json details = Json::parse(R"([{"type":"reasoning.encrypted","data":"MINE","index":0}])");
  for (const Json& own : {Json{{"reasoning_content", "mine"}}, Json{{"reasoning", "mine"}},
                          Json{{"reasoning_details", details}}}) {
    const Json sent = sent_with(target, choice, own);
    EXPECT_EQ(sent.dump().find("why"), std::string::npos) << sent.dump();
    EXPECT_EQ(sent.dump().find("\"d\""), std::string::npos) << sent.dump();
    for (const auto& [name, value] : own.items()) EXPECT_EQ(sent[name], value);
    EXPECT_EQ(sent["tool_calls"][0]["extra_content"]["google"]["thought_signature"], "sig");
  }
  const Json same = sent_with(target, choice, {{"reasoning_content", " why\n"}});
  EXPECT_FALSE(same.contains("reasoning_content"));
  EXPECT_EQ(same["reasoning"], "why");
  EXPECT_EQ(same["reasoning_details"][0]["data"], "d");
}

TEST(OwnReasoning, TheClientsOwnMembersOfACallCount) {
  const Target target = target_of("openrouter", "m");
  const auto choice = whole_choice(target, R"("reasoning":"why")");
  const Json own = Json::parse(R"({"extra_content":{"google":{"thought_signature":"MINE"}}})");
  const Json sent = sent_with(target, choice, Json::object(), own);
  EXPECT_EQ(sent["tool_calls"][0]["extra_content"], own["extra_content"]);
  EXPECT_EQ(sent["reasoning"], "why");
}

TEST(OwnReasoning, TheClientsOwnReasoningIsMovedToItsPlace) {
  const Target target = target_of("mistral", "m");
  const auto choice =
      whole_choice(target, R"("content":[{"type":"thinking","thinking":[{"type":"text","text":"why"}]}])");
  const Json sent = sent_with(target, choice, {{"reasoning_content", "mine"}});
  EXPECT_EQ(sent["content"][0]["thinking"][0]["text"], "mine");
  EXPECT_EQ(sent["content"].size(), 1u);
}

TEST(OwnReasoning, AnthropicAndGeminiGetTheClientsOwnSignatures) {
  schemas::ChatChoice choice;
  choice.tool_calls.push_back({.id = "abcdefghi", .name = "f", .arguments = "{}"});
  choice.reasoning_state = R"({"provider":"anthropic","blocks":[
      {"type":"thinking","thinking":"kept","signature":"S"},{"type":"tool_use","id":"abcdefghi"}]})";
  const Target claude = target_of("anthropic", "claude-sonnet-4-5");
  const Json own =
      Json::parse(R"({"thinking_blocks":[{"type":"thinking","thinking":"mine","signature":"MINE"}]})");
  EXPECT_EQ(sent_with(claude, choice, Json::object())["content"][0]["signature"], "S");
  EXPECT_EQ(sent_with(claude, choice, own)["content"][0]["signature"], "MINE");

  choice.reasoning_state = R"({"provider":"gemini","calls":{"abcdefghi":"S"}})";
  schemas::ChatRequest request = testing::request_of(Json::object());
  schemas::append_turn(request, choice, {{"abcdefghi", "r"}});
  request.body["messages"][1]["tool_calls"][0]["extra_content"]["google"]["thought_signature"] = "MINE";
  const Target gemini = target_of("gemini", "gemini-2.5-flash");
  const auto wire = translation(Family::kGemini).chat_request(gemini, request, false);
  ASSERT_TRUE(wire.has_value());
  EXPECT_NE(wire->body.find("MINE"), std::string::npos);
  EXPECT_EQ(wire->body.find("\"S\""), std::string::npos);
}

}  // namespace
}  // namespace millrace::providers::own_reasoning_test
