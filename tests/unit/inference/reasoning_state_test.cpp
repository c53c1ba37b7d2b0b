#include "ai/inference/chat/reasoning_state.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "ai/inference/chat/conversation.h"

namespace millrace::inference {
namespace {

using schemas::Json;
using schemas::kReasoningStateMember;

Json user(const Json& content) { return {{"role", "user"}, {"content", content}}; }

Json call(const std::string& id, const std::string& arguments = "{}", const std::string& name = "f") {
  return {{"id", id}, {"type", "function"}, {"function", {{"name", name}, {"arguments", arguments}}}};
}

Json answer_with(std::vector<Json> calls) {
  return {{"role", "assistant"}, {"content", nullptr}, {"tool_calls", std::move(calls)}};
}

Json result(const std::string& id, const std::string& text = "r") {
  return {{"role", "tool"}, {"tool_call_id", id}, {"content", text}};
}

schemas::ChatRequest conversation_of(std::vector<Json> messages, const std::string& tenant = "team") {
  schemas::ChatRequest request;
  request.tenant = tenant;
  request.body["messages"] = std::move(messages);
  return request;
}

// The answer of an upstream to `messages`.
void answered(ReasoningStateCache& cache, const std::vector<Json>& messages, const std::vector<Json>& calls,
              const std::string& state, const std::string& provider = "vllm") {
  const schemas::ChatRequest request = conversation_of(messages);
  ReasoningStateReader reader;
  schemas::ChatReply reply;
  schemas::ChatChoice& choice = reply.choices.emplace_back();
  choice.reasoning_state = state;
  for (const Json& each : calls) {
    choice.tool_calls.push_back(
        {.id = each["id"], .name = each["function"]["name"], .arguments = each["function"]["arguments"]});
  }
  reader.receive(reply);
  reader.remember(cache, Conversation(request), request.tenant, provider);
}

// The states that the messages of a request get; "": none.
std::vector<std::string> filled(ReasoningStateCache& cache, schemas::ChatRequest request,
                                const std::string& provider = "vllm") {
  cache.fill(request, Conversation(request), provider);
  std::vector<std::string> states;
  for (const Json& message : request.body["messages"]) {
    if (message["role"] == "assistant") states.push_back(message.value(kReasoningStateMember, ""));
  }
  return states;
}

std::string state_after(ReasoningStateCache& cache, const std::vector<Json>& before, const Json& made_call) {
  std::vector<Json> messages = before;
  messages.push_back(answer_with({made_call}));
  return filled(cache, conversation_of(messages)).at(0);
}

TEST(ReasoningStateCache, IsFilledInForTheProviderThatSentIt) {
  ReasoningStateCache cache(1 << 20);
  answered(cache, {user("x")}, {call("a")}, "signed", "anthropic");
  const auto next = conversation_of({user("x"), answer_with({call("a")}), result("a")});
  EXPECT_EQ(filled(cache, next, "anthropic").at(0), "signed");
  EXPECT_EQ(filled(cache, next, "gemini").at(0), "");
}

TEST(ReasoningStateCache, IsNeverAnotherTenants) {
  ReasoningStateCache cache(1 << 20);
  answered(cache, {user("x")}, {call("a")}, "signed");
  EXPECT_EQ(filled(cache, conversation_of({user("x"), answer_with({call("a")})}, "others")).at(0), "");
}

TEST(ReasoningStateCache, BelongsToOneConversation) {
  const Json alice = {{"role", "system"}, {"content", "customer: Alice"}};
  const Json bob = {{"role", "system"}, {"content", "customer: Bob"}};
  ReasoningStateCache cache(1 << 20);
  answered(cache, {alice, user("yes")}, {call("call_0")}, "Alice owes 500");
  answered(cache, {bob, user("yes")}, {call("call_0")}, "Bob owes 9");
  EXPECT_EQ(state_after(cache, {alice, user("yes")}, call("call_0")), "Alice owes 500");
  EXPECT_EQ(state_after(cache, {bob, user("yes")}, call("call_0")), "Bob owes 9");
  EXPECT_EQ(state_after(cache, {user("yes")}, call("call_0")), "");
  EXPECT_EQ(state_after(cache, {alice, user("yes")}, call("call_1")), "");
  EXPECT_EQ(state_after(cache, {alice, user("yes")}, call("call_0", R"({"a":1})")), "");
  EXPECT_EQ(state_after(cache, {alice, user("yes")}, call("call_0", "{}", "g")), "");
}

TEST(ReasoningStateCache, ARepeatedIdGetsTheStateOfItsOwnTurn) {
  std::vector<Json> messages = {user("wait for the build")};
  ReasoningStateCache cache(1 << 20);
  for (const char* state : {"1", "2", "3"}) {
    answered(cache, messages, {call("call_0")}, state);
    messages.push_back(answer_with({call("call_0")}));
    messages.push_back(result("call_0"));
  }
  EXPECT_EQ(filled(cache, conversation_of(messages)), (std::vector<std::string>{"1", "2", "3"}));
}

TEST(ReasoningStateCache, OfTwoStatesForOneCallNoneIsUsed) {
  ReasoningStateCache cache(1 << 20);
  answered(cache, {user("x")}, {call("a")}, "one");
  answered(cache, {user("x")}, {call("a")}, "one");
  EXPECT_EQ(state_after(cache, {user("x")}, call("a")), "one");
  answered(cache, {user("x")}, {call("a")}, "two");
  EXPECT_EQ(state_after(cache, {user("x")}, call("a")), "");
  answered(cache, {user("x")}, {call("a")}, "one");
  EXPECT_EQ(state_after(cache, {user("x")}, call("a")), "");
}

TEST(ReasoningStateCache, EachProviderHasItsOwnState) {
  ReasoningStateCache cache(1 << 20);
  answered(cache, {user("x")}, {call("a")}, "of vllm", "vllm");
  answered(cache, {user("x")}, {call("a")}, "of xai", "xai");
  const auto next = conversation_of({user("x"), answer_with({call("a")})});
  EXPECT_EQ(filled(cache, next, "vllm").at(0), "of vllm");
  EXPECT_EQ(filled(cache, next, "xai").at(0), "of xai");
}

TEST(ReasoningStateCache, CallsOfDifferentAnswersHaveNoStateTogether) {
  ReasoningStateCache cache(1 << 20);
  answered(cache, {user("x")}, {call("a"), call("b")}, "both");
  answered(cache, {user("x")}, {call("c")}, "other");
  const auto of_calls = [&](const std::vector<Json>& calls) {
    return filled(cache, conversation_of({user("x"), answer_with(calls)})).at(0);
  };
  EXPECT_EQ(of_calls({call("a"), call("b")}), "both");
  EXPECT_EQ(of_calls({call("b")}), "both");
  EXPECT_EQ(of_calls({call("a"), call("c")}), "");
  EXPECT_EQ(of_calls({call("a"), call("d")}), "");
}

TEST(ReasoningStateCache, AStateThatAMessageHasStays) {
  ReasoningStateCache cache(1 << 20);
  answered(cache, {user("x")}, {call("a")}, "kept");
  auto next = conversation_of({user("x"), answer_with({call("a")})});
  next.body["messages"][1][kReasoningStateMember] = "of the tool loop";
  EXPECT_EQ(filled(cache, next).at(0), "of the tool loop");
}

TEST(ReasoningStateCache, TheLeastUsedIsForgottenAtTheBound) {
  ReasoningStateCache cache(2'000);
  const std::string state(500, 's');
  answered(cache, {user("x")}, {call("a")}, state);
  answered(cache, {user("x")}, {call("b")}, state);
  EXPECT_EQ(state_after(cache, {user("x")}, call("a")), state);
  answered(cache, {user("x")}, {call("c")}, state);
  EXPECT_LE(cache.bytes(), 2'000u);
  EXPECT_EQ(state_after(cache, {user("x")}, call("a")), state);
  EXPECT_EQ(state_after(cache, {user("x")}, call("b")), "");
}

TEST(ReasoningStateCache, WithoutItsMessagesARequestHasNoState) {
  ReasoningStateCache cache(1 << 20);
  ReasoningStateReader reader;
  schemas::ChatPiece piece;
  piece.tool_calls = {{.index = 0, .id = "a", .name = "f", .arguments = "{}"}};
  piece.reasoning_state = "s";
  reader.receive(piece);
  reader.remember(cache, Conversation(schemas::ChatRequest()), "team", "vllm");
  EXPECT_EQ(cache.bytes(), 0u);
}

TEST(ReasoningStateReader, PiecesOfACallAreOneCall) {
  ReasoningStateCache cache(1 << 20);
  ReasoningStateReader reader;
  schemas::ChatPiece piece;
  piece.tool_calls = {{.index = 0, .id = "a", .type = "function", .name = "f", .arguments = "{\"x\""}};
  reader.receive(piece);
  piece.tool_calls = {{.index = 0, .arguments = ": 1.0}"}};
  piece.reasoning_state = "thoughts";
  reader.receive(piece);
  const auto request = conversation_of({user("x")});
  reader.remember(cache, Conversation(request), "team", "vllm");
  EXPECT_EQ(state_after(cache, {user("x")}, call("a", R"({"x":1})")), "thoughts");
}

TEST(ReasoningStateReader, CallsBeyondTheBoundAreNotKept) {
  ReasoningStateCache cache(32u << 20);
  const std::string text(ReasoningStateReader::kCallTextMax, 'x');
  answered(cache, {user("x")}, {call("a", "\"" + text + "\"")}, "state");
  EXPECT_EQ(cache.bytes(), 0u);
}

TEST(Conversation, TheSpellingOfArgumentsMakesNoDifference) {
  const std::vector<std::pair<std::string, std::string>> same = {
      {R"({"city": "Berlin"})", R"({"city":"Berlin"})"},
      {"", "{}"},
      {" ", "null"},
      {R"({"a":1.0,"b":-0.0})", R"({"b":0,"a":1})"},
      {R"({"a":1e2})", R"({"a":100})"},
      {R"({"a":12345678901234567890123})", R"({"a":1.2345678901234568e+22})"},
      {R"({"a":1e16,"b":-1e18,"c":1e19})", R"({"a":10000000000000000,"b":-1e+18,"c":10000000000000000000})"},
      {R"({"u":"\u00e9\/"})", R"({"u":"é/"})"},
      {R"({"a":{"x":[1,{"y":2,"z":3}]}})", R"({ "a" : { "x" : [ 1 , { "z" : 3, "y" : 2 } ] } })"},
  };
  for (const auto& [sent, back] : same) {
    ReasoningStateCache cache(1 << 20);
    answered(cache, {user("x")}, {call("a", sent)}, "s");
    EXPECT_EQ(state_after(cache, {user("x")}, call("a", back)), "s") << sent << " " << back;
  }
  for (const auto& [sent, back] : std::vector<std::pair<std::string, std::string>>{
           {R"({"a":1})", R"({"a":2})"},
           {R"({"a":"1"})", R"({"a":1})"},
           {R"({"a":[1,2]})", R"({"a":[2,1]})"},
           {R"({"a":null})", "{}"},
           {R"({"a":9007199254740993})", R"({"a":9007199254740992})"},
           {R"({"a":18446744073709551615})", R"({"a":18446744073709551614})"},
           {R"({"a":-1})", R"({"a":18446744073709551615})"},
           {R"({"a":12345678901234567890123})", R"({"a":null})"},
           {R"({"a":12345678901234567890123})", R"({"a":12345678901244567890123})"},
           {"broken", "broken "}}) {
    ReasoningStateCache cache(1 << 20);
    answered(cache, {user("x")}, {call("a", sent)}, "s");
    EXPECT_EQ(state_after(cache, {user("x")}, call("a", back)), "") << sent << " " << back;
  }
}

TEST(Conversation, ArgumentsThatAreNoTextHaveTheirNumbers) {
  ReasoningStateCache cache(1 << 20);
  answered(cache, {user("x")}, {call("a", R"({"a":12345678901234567890123})")}, "s");
  Json back = call("a");
  back["function"]["arguments"] = {{"a", schemas::spelled_number("12345678901234567890123")}};
  EXPECT_EQ(state_after(cache, {user("x")}, back), "s");
}

TEST(Conversation, LargeNumbersOfAPartMakeADifference) {
  const auto with = [](std::string_view number) {
    return user(Json::array({{{"type", "odd"}, {"n", schemas::spelled_number(number)}}}));
  };
  ReasoningStateCache cache(1 << 20);
  answered(cache, {with("12345678901234567890123")}, {call("a")}, "s");
  EXPECT_EQ(state_after(cache, {with("12345678901234567890123")}, call("a")), "s");
  EXPECT_EQ(state_after(cache, {with("99945678901234567890123")}, call("a")), "");
}

TEST(Conversation, TheFormOfAMessageMakesNoDifference) {
  const Json text = {{"type", "text"}, {"text", "ab"}};
  Json marked = text, image = {{"type", "image_url"}, {"image_url", {{"url", "https://a/b.png"}}}};
  marked["cache_control"] = {{"type", "ephemeral"}};
  Json image_marked = image;
  image_marked["cache_control"] = {{"type", "ephemeral"}};
  const Json halves = {{{"type", "text"}, {"text", "a"}}, {{"type", "text"}, {"text", "b"}}};
  ReasoningStateCache cache(1 << 20);
  answered(cache, {user("ab")}, {call("a")}, "s");
  for (const Json& content : {Json::array({text}), Json::array({marked}), halves})
    EXPECT_EQ(state_after(cache, {user(content)}, call("a")), "s") << content.dump();
  for (const Json& content : {Json("a"), Json::array({text, image}), Json("abc")})
    EXPECT_EQ(state_after(cache, {user(content)}, call("a")), "") << content.dump();
  answered(cache, {user(Json::array({text, image}))}, {call("a")}, "of an image");
  EXPECT_EQ(state_after(cache, {user(Json::array({marked, image_marked}))}, call("a")), "of an image");
  EXPECT_EQ(state_after(cache, {user(Json::array({image, text}))}, call("a")), "");
}

TEST(Conversation, ReasoningOfEarlierAnswersMakesNoDifference) {
  Json reply = {{"role", "assistant"}, {"content", "hello"}, {"reasoning_content", "why"}};
  ReasoningStateCache cache(1 << 20);
  answered(cache, {user("hi"), reply, user("x")}, {call("a")}, "s");
  reply.erase("reasoning_content");
  EXPECT_EQ(filled(cache, conversation_of({user("hi"), reply, user("x"), answer_with({call("a")})})).at(1),
            "s");
  reply["content"] = "hello!";
  EXPECT_EQ(filled(cache, conversation_of({user("hi"), reply, user("x"), answer_with({call("a")})})).at(1),
            "");
}

}  // namespace
}  // namespace millrace::inference
