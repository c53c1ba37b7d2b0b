#include "ai/inference/chat/paused_turn.h"

#include <gtest/gtest.h>

#include "ai/inference/chat/chat.h"
#include "tests/unit/inference/chat_fixture.h"
#include "tests/unit/inference/scripted_upstream.h"

// Turns that Anthropic pauses, against upstreams over real sockets.
namespace millrace::inference::paused_turn_test {
namespace {

using base::Code;
using schemas::Json;
using testing::ChatFixture;
using testing::event_stream;
using testing::failure;
using testing::http;
using testing::models;
using testing::Received;
using testing::request;
using testing::ScriptedUpstream;
using testing::streamed;

const std::string kSearch =
    R"([{"type":"server_tool_use","id":"s","name":"web_search","input":{"query":"mills"}},)"
    R"({"type":"web_search_tool_result","tool_use_id":"s","content":[{"encrypted_content":"x"}]},)"
    R"({"type":"text","text":"Über "}])";

std::string cited(const std::string& text) {
  return R"({"type":"text","text":")" + text +
         R"(","citations":[{"type":"web_search_result_location","url":"https://a.example","title":"A"}]})";
}

std::string message(const std::string& content, const std::string& reason) {
  return http(200, R"({"id":"m","type":"message","role":"assistant","model":"c","content":)" + content +
                       R"(,"stop_reason":")" + reason +
                       R"(","usage":{"input_tokens":10,"output_tokens":2}})");
}

std::string event(const std::string& data) { return "data: " + data + "\n\n"; }

// The same message as a stream. Texts and inputs arrive in deltas.
std::string stream(const std::string& content, const std::string& reason) {
  std::string out = event(R"({"type":"message_start","message":{"id":"m","usage":{"input_tokens":10}}})");
  int index = 0;
  for (Json block : Json::parse(content)) {
    const auto add = [&](const Json& delta) {
      out += event(Json{{"type", "content_block_delta"}, {"index", index}, {"delta", delta}}.dump());
    };
    const Json whole = block;
    if (block["type"] == "text") block["text"] = "";
    if (block.contains("citations")) block["citations"] = Json::array();
    if (block.contains("input")) block["input"] = Json::object();
    out += event(Json{{"type", "content_block_start"}, {"index", index}, {"content_block", block}}.dump());
    if (whole["type"] == "text") add({{"type", "text_delta"}, {"text", whole["text"]}});
    for (const Json& each : whole.value("citations", Json::array()))
      add({{"type", "citations_delta"}, {"citation", each}});
    if (whole.contains("input")) add({{"type", "input_json_delta"}, {"partial_json", whole["input"].dump()}});
    out += event(Json{{"type", "content_block_stop"}, {"index", index++}}.dump());
  }
  out += event(R"({"type":"message_delta","delta":{"stop_reason":")" + reason +
               R"("},"usage":{"output_tokens":2}})");
  return event_stream(out + event(R"({"type":"message_stop"})"));
}

schemas::ChatRequest searching() {
  auto chat_request = request("a/m");
  chat_request.body["web_search_options"] = Json::object();
  return chat_request;
}

Json messages_of(const std::string& body) { return Json::parse(body)["messages"]; }

TEST(PausedTurn, TheFirstPartGoesBackAndTheAnswerGoesOn) {
  for (const bool is_stream : {false, true}) {
    const auto reply = is_stream ? stream : message;
    ScriptedUpstream upstream({reply(kSearch, "pause_turn"), reply("[" + cited("mills") + "]", "end_turn")});
    Received received;
    ChatFixture dependencies(models({testing::upstream_row("a/m", upstream, "anthropic")}));
    auto chat_request = searching();
    chat_request.stream = is_stream;
    const auto end = dependencies.answer(chat_request, received);
    ASSERT_TRUE(end) << end.error().message;
    ASSERT_EQ(2u, upstream.bodies().size());
    Json expected = messages_of(upstream.bodies()[0]);
    expected.push_back({{"role", "assistant"}, {"content", Json::parse(kSearch)}});
    expected.back()["content"].back()["text"] = "Über";  // Anthropic refuses white space at the end
    EXPECT_EQ(expected, messages_of(upstream.bodies()[1]));
    EXPECT_EQ(Json::parse(upstream.bodies()[0])["tools"], Json::parse(upstream.bodies()[1])["tools"]);
    EXPECT_EQ(24, end->reply.usage->total);
    EXPECT_EQ(24, end->charged.tokens);
    EXPECT_EQ(2, received.sendings);
    Json annotations = Json::array();
    if (is_stream) {
      EXPECT_EQ("Über mills", received.text());
      EXPECT_EQ(std::vector<std::string>{"stop"}, received.finishes());
      for (const auto& piece : received.pieces)
        if (piece.extra.is_object()) annotations = piece.extra["annotations"];
    } else {
      const schemas::ChatChoice& choice = end->reply.choices.at(0);
      EXPECT_EQ("Über mills", choice.content);
      EXPECT_EQ("stop", choice.finish_reason);
      annotations = choice.extra["annotations"];
    }
    ASSERT_EQ(1u, annotations.size());
    EXPECT_EQ(5, annotations[0]["url_citation"]["start_index"]);
    EXPECT_EQ(10, annotations[0]["url_citation"]["end_index"]);
  }
}

TEST(PausedTurn, AProviderThatPausesForEverEndsWithLength) {
  for (const bool is_stream : {false, true}) {
    ScriptedUpstream upstream({(is_stream ? stream : message)(kSearch, "pause_turn")});
    Received received;
    ChatFixture dependencies(models({testing::upstream_row("a/m", upstream, "anthropic")}));
    auto chat_request = searching();
    chat_request.stream = is_stream;
    const auto end = dependencies.answer(chat_request, received);
    ASSERT_TRUE(end) << end.error().message;
    EXPECT_EQ(static_cast<std::size_t>(kTurnCallsMax), upstream.bodies().size());
    EXPECT_EQ(2u, messages_of(upstream.bodies().back()).size());
    EXPECT_EQ("length", is_stream ? received.finishes().at(0) : end->reply.choices.at(0).finish_reason);
    EXPECT_LE(received.finishes().size(), 1u);
    EXPECT_EQ(12 * kTurnCallsMax, end->reply.usage->total);
  }
}

TEST(PausedTurn, AnExceptionAtTheEndOfATurnFailsThisAnswerAlone) {
  ScriptedUpstream upstream({stream(kSearch, "pause_turn")});
  Received received;
  received.throws_at = testing::is_finish;
  ChatFixture dependencies(models({testing::upstream_row("a/m", upstream, "anthropic")}));
  const auto end = dependencies.answer(testing::streamed(searching()), received);
  ASSERT_FALSE(end);
  EXPECT_EQ(base::Code::kUpstream, end.error().code);
  EXPECT_EQ(static_cast<std::int64_t>(12 * upstream.bodies().size()), received.failed_tokens);
}

TEST(PausedTurn, AContinuationThatFailsIsTriedAgainWithTheSameTarget) {
  for (const bool is_stream : {false, true}) {
    const auto reply = is_stream ? stream : message;
    ScriptedUpstream upstream(
        {reply(kSearch, "pause_turn"), failure(), reply(R"([{"type":"text","text":"mills"}])", "end_turn")});
    Received received;
    ChatFixture dependencies(models({testing::upstream_row("a/m", upstream, "anthropic")}));
    auto chat_request = searching();
    chat_request.stream = is_stream;
    const auto end = dependencies.answer(chat_request, received);
    ASSERT_TRUE(end) << end.error().message;
    EXPECT_EQ("Über mills", is_stream ? received.text() : end->reply.choices.at(0).content.value_or(""));
    EXPECT_EQ(upstream.bodies().at(1), upstream.bodies().at(2));
  }
}

TEST(PausedTurn, AStreamWhoseContinuationKeepsFailingEndsWithTheError) {
  ScriptedUpstream upstream({stream(kSearch, "pause_turn"), failure()});
  ScriptedUpstream other({failure()});
  Received received;
  ChatFixture dependencies(
      models({testing::upstream_row("a/m", upstream, "anthropic"), testing::upstream_row("b/m", other)}));
  auto chat_request = streamed(searching());
  chat_request.models = {"a/m", "b/m"};
  const auto end = dependencies.answer(chat_request, received);
  ASSERT_FALSE(end);
  EXPECT_EQ(Code::kUpstream, end.error().code);
  EXPECT_TRUE(received.finishes().empty());
  EXPECT_TRUE(other.bodies().empty());
}

TEST(PausedTurn, AWholeTurnThatCannotGoOnIsAnsweredByAFallback) {
  ScriptedUpstream upstream({message(kSearch, "pause_turn"), failure()});
  ScriptedUpstream other({testing::completion("from the fallback")});
  Received received;
  ChatFixture dependencies(
      models({testing::upstream_row("a/m", upstream, "anthropic"), testing::upstream_row("b/m", other)}));
  auto chat_request = searching();
  chat_request.models = {"a/m", "b/m"};
  const auto end = dependencies.answer(chat_request, received);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ("from the fallback", end->reply.choices.at(0).content);
  EXPECT_EQ(1u, messages_of(other.bodies().at(0)).size());
}

TEST(PausedTurn, EmptyAndUnrequestedPausesEndWithLength) {
  const std::string whole = message(kSearch, "pause_turn");
  for (const auto& [chat_request, reply] :
       {std::pair(searching(), message("[]", "pause_turn")), std::pair(request("a/m"), whole),
        std::pair(streamed(request("a/m")), whole),
        std::pair(streamed(request("a/m")), stream(kSearch, "pause_turn"))}) {
    ScriptedUpstream upstream({reply});
    Received received;
    ChatFixture dependencies(models({testing::upstream_row("a/m", upstream, "anthropic")}));
    const auto end = dependencies.answer(chat_request, received);
    ASSERT_TRUE(end) << end.error().message;
    EXPECT_EQ(1u, upstream.bodies().size());
    EXPECT_EQ("length",
              chat_request.stream ? received.finishes().at(0) : end->reply.choices.at(0).finish_reason);
  }
}

TEST(PausedTurn, TheSchemaHoldsForTheWholeAnswer) {
  for (const bool is_stream : {false, true}) {
    const auto reply = is_stream ? stream : message;
    const auto half = [](const std::string& text) {
      return Json::array({{{"type", "text"}, {"text", text}}}).dump();
    };
    for (const std::string rest : {"1}", "x"}) {
      ScriptedUpstream upstream({reply(half("{\"a\":"), "pause_turn"), reply(half(rest), "end_turn")});
      Received received;
      ModelRow row = testing::upstream_row("a/m", upstream, "anthropic");
      row.target.model = "claude-sonnet-4-5";
      row.target.response_format = true;
      ChatFixture dependencies(models({row}));
      auto chat_request = searching();
      chat_request.stream = is_stream;
      chat_request.body["response_format"] = Json::parse(
          R"({"type":"json_schema","json_schema":{"name":"n","strict":true,"schema":{"type":"object",
              "properties":{"a":{"type":"integer"}},"required":["a"],"additionalProperties":false}}})");
      const auto end = dependencies.answer(chat_request, received);
      EXPECT_EQ(rest == "1}", end.has_value()) << rest;
      EXPECT_TRUE(end || breaks_schema(end.error())) << rest;
      EXPECT_EQ(2u, upstream.bodies().size());
    }
  }
}

// A model on Anthropic that has a strict tool whose schema it gets without `minimum`.
schemas::ChatRequest calling(bool is_stream) {
  auto chat_request = searching();
  chat_request.stream = is_stream;
  chat_request.body["tools"] = Json::parse(
      R"([{"type":"function","function":{"name":"f","strict":true,"parameters":{"type":"object",
          "properties":{"a":{"type":"integer","minimum":1}},"required":["a"],
          "additionalProperties":false}}}])");
  return chat_request;
}

std::string call_of(int value) {
  return R"([{"type":"tool_use","id":"t","name":"f","input":{"a":)" + std::to_string(value) + "}}]";
}

TEST(PausedTurn, ArgumentsOfStrictToolsAreCheckedAsWithoutAPause) {
  for (const bool is_stream : {false, true}) {
    const auto reply = is_stream ? stream : message;
    for (const int value : {1, 0}) {
      for (const bool is_paused : {false, true}) {
        std::vector<std::string> script{reply(call_of(value), "tool_use")};
        if (is_paused) script.insert(script.begin(), reply(kSearch, "pause_turn"));
        ScriptedUpstream upstream(script);
        Received received;
        ModelRow row = testing::upstream_row("a/m", upstream, "anthropic");
        row.target.model = "claude-sonnet-4-5";
        ChatFixture dependencies(models({row}));
        const auto end = dependencies.answer(calling(is_stream), received);
        EXPECT_EQ(value == 1, end.has_value()) << is_stream << is_paused;
        EXPECT_TRUE(end || breaks_schema(end.error())) << end.error().message;
      }
    }
  }
}

TEST(PausedTurn, APartThatIsTriedAgainKeepsTheStateOfEarlierParts) {
  const auto call_with = [](const std::string& id) {
    return R"({"type":"tool_use","id":")" + id + R"(","name":"f","input":{"a":1}})";
  };
  const std::string searched = kSearch.substr(0, kSearch.size() - 1) + "," + call_with("t1") + "]";
  const std::string broken =
      event_stream(event(R"({"type":"message_start","message":{"id":"m","usage":{"input_tokens":10}}})"));
  for (const bool is_stream : {false, true}) {
    const auto reply = is_stream ? stream : message;
    ScriptedUpstream upstream({reply(searched, "pause_turn"), is_stream ? broken : failure(),
                               reply("[" + call_with("t2") + "]", "tool_use"),
                               reply(R"([{"type":"text","text":"done"}])", "end_turn")});
    ModelRow row = testing::upstream_row("a/m", upstream, "anthropic");
    row.target.model = "claude-sonnet-4-5";
    ChatFixture dependencies(models({row}));
    Received received, second;
    auto chat_request = calling(is_stream);
    const auto end = dependencies.answer(chat_request, received);
    ASSERT_TRUE(end) << end.error().message;
    schemas::ChatAssembly assembly;
    for (const schemas::ChatPiece& piece : received.pieces) assembly.add(piece);
    const schemas::ChatReply answer = is_stream ? assembly.take() : end->reply;
    Json back = {{"role", "assistant"}, {"content", answer.choices.at(0).content.value_or("")}};
    Json results = Json::array();
    for (const schemas::ToolCall& call : answer.choices.at(0).tool_calls) {
      back["tool_calls"].push_back({{"id", call.id},
                                    {"type", "function"},
                                    {"function", {{"name", call.name}, {"arguments", call.arguments}}}});
      results.push_back({{"role", "tool"}, {"tool_call_id", call.id}, {"content", "r"}});
    }
    ASSERT_EQ(2u, results.size());
    chat_request.body["messages"].push_back(back);
    for (const Json& each : results) chat_request.body["messages"].push_back(each);
    ASSERT_TRUE(dependencies.answer(chat_request, second));
    EXPECT_NE(std::string::npos, upstream.bodies().back().find("encrypted_content"))
        << is_stream << upstream.bodies().back();
  }
}

}  // namespace
}  // namespace millrace::inference::paused_turn_test
