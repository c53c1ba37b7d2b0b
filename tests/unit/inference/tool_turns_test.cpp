#include <atomic>

#include <gtest/gtest.h>

#include "platform/net/http/http_task.h"
#include "schemas/json/json_body.h"
#include "tests/unit/inference/chat_fixture.h"
#include "tests/unit/inference/scripted_upstream.h"

// Turns of the loop of server-side tools, each whole and streamed: which calls are run, what the client gets,
// and what the model gets.
namespace millrace::inference {
namespace {

using schemas::Json;
using testing::ChatFixture;
using testing::Received;

// A server with one tool `look`, which counts its calls.
class Eye final : public ToolServer {
 public:
  explicit Eye(std::atomic<int>& calls) : calls_(calls) {}
  net::Task<base::Result<McpTools>> list_tools(net::Cancel&) override {
    McpTools listed;
    McpTool& tool = listed.tools.emplace_back();
    tool.name = "look";
    tool.input_schema = R"({"type":"object","properties":{}})";
    co_return listed;
  }
  net::Task<base::Result<McpOutcome>> call_tool(std::string, std::string, net::Cancel&) override {
    ++calls_;
    McpOutcome outcome;
    outcome.text = "seen";
    co_return outcome;
  }
  void close() override {}

 private:
  std::atomic<int>& calls_;
};

struct Turn {
  std::string text;
  std::vector<std::string> calls = {};  // names
  std::string finish = "stop";
  std::string more = {};  // members of the message
};

std::string reply_to(const Turn& turn, bool stream) {
  Json message = turn.more.empty() ? Json::object() : Json::parse(turn.more);
  message["role"] = "assistant";
  message["content"] = turn.text;
  for (std::size_t i = 0; i < turn.calls.size(); ++i)
    message["tool_calls"].push_back({{"index", i},
                                     {"id", "call" + std::to_string(i)},
                                     {"type", "function"},
                                     {"function", {{"name", turn.calls[i]}, {"arguments", "{}"}}}});
  const std::string usage = R"("usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2})";
  if (!stream)
    return testing::http(200, R"({"choices":[{"index":0,"message":)" + message.dump() +
                                  R"(,"finish_reason":")" + turn.finish + R"("}],)" + usage + "}");
  return testing::event_stream(testing::chunk(message.dump()) +
                               testing::chunk("{}", '"' + turn.finish + '"') + R"(data: {"choices":[],)" +
                               usage + "}\n\ndata: [DONE]\n\n");
}

// What the client has received, in one form for whole and streamed answers.
struct Outcome {
  schemas::ChatChoice choice;
  schemas::ToolReport tools;
  std::vector<Json> sent;  // the messages of each request to the upstream
  int run = 0;             // calls that the server received
};

Outcome outcome_of(const std::vector<Turn>& turns, bool stream, const Json& more = Json::object()) {
  std::vector<std::string> script;
  script.reserve(turns.size());
  for (const Turn& turn : turns) script.push_back(reply_to(turn, stream));
  testing::ScriptedUpstream upstream(script);
  std::atomic<int> run{0};
  ChatFixture dependencies(testing::models({testing::upstream_row("a/m", upstream, "openai")}),
                           ChatFixture::quick(), [&](McpEndpoint) { return std::make_unique<Eye>(run); });
  Received received;
  schemas::ChatRequest chat_request = testing::request("a/m", "hello");
  chat_request.mcp_servers = {{.slug = "", .version = "", .url = "https://eye.example/mcp", .name = "eye"}};
  chat_request.stream = stream;
  for (const auto& [name, value] : more.items()) chat_request.body[name] = value;
  chat_request.needs_format = chat_request.body.contains("response_format");
  const auto end = dependencies.answer(chat_request, received);
  Outcome outcome;
  EXPECT_TRUE(end) << end.error().message;
  if (!end) return outcome;
  schemas::ChatReply reply = end->reply;
  outcome.tools = reply.tools;
  if (stream) {
    schemas::ChatAssembly assembly;
    for (const schemas::ChatPiece& piece : received.pieces) assembly.add(piece);
    reply = assembly.take();
  }
  EXPECT_EQ(1u, reply.choices.size());
  if (!reply.choices.empty()) outcome.choice = reply.choices[0];
  for (const std::string& body : upstream.bodies()) outcome.sent.push_back(Json::parse(body)["messages"]);
  outcome.run = run;
  return outcome;
}

std::vector<std::string> names_of(const std::vector<schemas::ToolCall>& calls) {
  std::vector<std::string> names;
  for (const schemas::ToolCall& call : calls) names.push_back(call.name);
  return names;
}

using Names = std::vector<std::string>;
const Json kMine = {{"tools", Json::array({testing::tool("mine")})}};

class ToolTurns : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(WholeAndStreamed, ToolTurns, ::testing::Bool(),
                         [](const auto& each) { return each.param ? "Streamed" : "Whole"; });

TEST_P(ToolTurns, BesideACallOfTheClientNoneIsRun) {
  const Outcome got = outcome_of({{"both", {"mine", "eye__look"}, "tool_calls"}}, GetParam(), kMine);
  EXPECT_EQ(Names{"mine"}, names_of(got.choice.tool_calls));
  EXPECT_EQ("tool_calls", got.choice.finish_reason);
  EXPECT_EQ("both", got.choice.content);
  EXPECT_EQ(0, got.run);
  EXPECT_TRUE(got.tools.executed.empty());
  ASSERT_EQ(1u, got.tools.results.size());
  EXPECT_TRUE(got.tools.results[0].is_error);
  EXPECT_EQ("look", got.tools.results[0].tool_name);
  EXPECT_EQ("not run: the same turn calls a tool of the client", got.tools.results[0].result);
}

TEST_P(ToolTurns, CallsOfABrokenTurnAreNotRunAndItsReasonStays) {
  for (const char* reason : {"length", "content_filter"}) {
    const Outcome got = outcome_of({{"half", {"eye__look"}, reason}, {"done"}}, GetParam());
    EXPECT_EQ(reason, got.choice.finish_reason);
    EXPECT_TRUE(got.choice.tool_calls.empty());
    EXPECT_EQ("half", got.choice.content);
    EXPECT_EQ(0, got.run);
    EXPECT_EQ(1u, got.sent.size());
    ASSERT_EQ(1u, got.tools.results.size());
    EXPECT_NE(std::string::npos, got.tools.results[0].result.find(reason));
  }
}

TEST_P(ToolTurns, ACallOfAToolThatNobodyDefinedIsAnErrorToTheModel) {
  for (const Json& tools : {Json::object(), kMine}) {
    const Outcome got =
        outcome_of({{"", {"eye__nope", "eye__look"}, "tool_calls"}, {"done"}}, GetParam(), tools);
    EXPECT_EQ("stop", got.choice.finish_reason);
    EXPECT_EQ("done", got.choice.content);
    EXPECT_TRUE(got.choice.tool_calls.empty());
    EXPECT_EQ(1, got.run);
    ASSERT_EQ(2u, got.sent.size());
    const Json& result = got.sent[1].at(2);
    EXPECT_EQ("call0", result["tool_call_id"]);
    EXPECT_EQ("Error: there is no tool 'eye__nope'; the tools are 'eye__look'", result["content"]);
    EXPECT_EQ("seen", got.sent[1].at(3)["content"]);
    EXPECT_EQ(Names{"eye__look"}, got.tools.executed);
  }
}

TEST_P(ToolTurns, TheTextsOfAllTurnsAreJoinedWithABlankLine) {
  const Outcome got = outcome_of({{"thinking aloud", {"eye__look"}, "tool_calls", R"({"reasoning":"r1"})"},
                                  {"", {"eye__look"}, "tool_calls"},
                                  {"the end", {}, "stop", R"({"reasoning":"r2"})"}},
                                 GetParam());
  EXPECT_EQ("thinking aloud\n\nthe end", got.choice.content);
  EXPECT_EQ("r1\n\nr2", got.choice.reasoning);
  EXPECT_EQ(2, got.run);
  EXPECT_EQ("thinking aloud", got.sent.at(2).at(1)["content"]) << "the model gets its own text";
}

TEST_P(ToolTurns, OfAnAnswerInAFormatOnlyTheLastTextIsSent) {
  const Json format = {{"response_format", {{"type", "json_object"}}}};
  const std::vector<Turn> turns = {{"thinking aloud", {"eye__look"}, "tool_calls"}, {"{}"}};
  EXPECT_EQ("{}", outcome_of(turns, GetParam(), format).choice.content);
}

TEST_P(ToolTurns, WithoutATextTheContentIsThatOfTheLastTurn) {
  const Outcome got = outcome_of({{"", {"eye__look"}, "tool_calls"}, {"done"}}, GetParam());
  EXPECT_EQ("done", got.choice.content);
  EXPECT_EQ(1, got.run);
}

TEST_P(ToolTurns, OfUnknownMembersListsAreJoinedAndOthersAreOfTheLastTurn) {
  const std::string first = R"({"native":"tool_calls","score":1,"images":[1],"audio":{"id":"a","data":"x"}})";
  const std::string last = R"({"native":"stop","images":[2],"audio":{"id":"b","data":"y"}})";
  const Outcome got =
      outcome_of({{"one", {"eye__look"}, "tool_calls", first}, {"two", {}, "stop", last}}, GetParam());
  EXPECT_EQ(Json::parse(R"({"native":"stop","images":[1,2],"audio":{"id":"b","data":"y"}})"),
            got.choice.extra);
  const Outcome only = outcome_of({{"one", {"mine"}, "tool_calls", first}}, GetParam(), kMine);
  EXPECT_EQ(Json::parse(first), only.choice.extra) << "the turn that turned out to be the last";
}

TEST_P(ToolTurns, ImagesOfATurnGoBackToTheProviderWithTheirSignatures) {
  const auto reply = [&](const std::string& parts) {
    const std::string text =
        R"({"candidates":[{"content":{"role":"model","parts":[)" + parts + R"(]},"finishReason":"STOP"}]})";
    return GetParam() ? testing::event_stream("data: " + text + "\n\n") : testing::http(200, text);
  };
  const std::string image =
      R"({"inlineData":{"mimeType":"image/png","data":"iVBORw0KGgo="},"thoughtSignature":"c2ln"})";
  testing::ScriptedUpstream upstream(
      {reply(image + R"(,{"functionCall":{"name":"eye__look","args":{}},"thoughtSignature":"Y2FsbA=="})"),
       reply(R"({"text":"done"})")});
  ModelRow row = testing::upstream_row("a/m", upstream, "gemini");
  row.target.model = "gemini-3-pro-image-preview";
  std::atomic<int> run{0};
  ChatFixture dependencies(testing::models({row}), ChatFixture::quick(),
                           [&](McpEndpoint) { return std::make_unique<Eye>(run); });
  schemas::ChatRequest chat_request = testing::request("a/m", "draw and look");
  chat_request.mcp_servers = {{.slug = "", .version = "", .url = "https://eye.example/mcp", .name = "eye"}};
  chat_request.stream = GetParam();
  Received received;
  const auto end = dependencies.answer(chat_request, received);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(1, run);
  ASSERT_EQ(2u, upstream.bodies().size());
  const Json parts = Json::parse(upstream.bodies()[1])["contents"][1]["parts"];
  ASSERT_EQ(2u, parts.size()) << parts;
  EXPECT_EQ(Json::parse(image), parts[0]);
  EXPECT_EQ("Y2FsbA==", parts[1]["thoughtSignature"]);
  EXPECT_TRUE(received.heads.at(0).dropped.empty());
}

TEST_P(ToolTurns, TheNameOfAnUndefinedToolIsCutBetweenCharacters) {
  std::string name = "a";
  for (int i = 0; i < 40; ++i) name += "ü";
  const Outcome got = outcome_of({{"", {name}, "tool_calls"}, {"done"}}, GetParam());
  ASSERT_EQ(2u, got.sent.size());
  const std::string error = got.sent[1].at(2)["content"];
  EXPECT_TRUE(error.starts_with("Error: there is no tool '" + name.substr(0, 63) + "'; ")) << error;
}

TEST_P(ToolTurns, CitationsCountTheBlankLineToo) {
  const std::string cited =
      R"({"annotations":[{"type":"url_citation","url_citation":{"start_index":0,"end_index":3}}]})";
  const Outcome got =
      outcome_of({{"one", {"eye__look"}, "tool_calls"}, {"two", {}, "stop", cited}}, GetParam());
  EXPECT_EQ("one\n\ntwo", got.choice.content);
  const Json place = got.choice.extra.at("annotations").at(0).at("url_citation");
  EXPECT_EQ(5, place["start_index"]);
  EXPECT_EQ(8, place["end_index"]);
}

}  // namespace
}  // namespace millrace::inference
