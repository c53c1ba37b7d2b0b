#include <atomic>

#include <gtest/gtest.h>

#include "ai/inference/chat/chat.h"
#include "platform/net/http/http_task.h"
#include "tests/unit/inference/chat_fixture.h"
#include "tests/unit/inference/scripted_upstream.h"

// Requests with server-side tools. mock/chat answers them, and calls a tool if the message names it.
namespace millrace::inference {
namespace {

using testing::ChatFixture;
using testing::mock_settings;
using testing::Received;
using testing::request;

// A server with one tool `look`. The server "bad" refuses connections; "broken" fails during calls.
class FakeServer final : public ToolServer {
 public:
  explicit FakeServer(McpEndpoint endpoint) : endpoint_(std::move(endpoint)) {}
  net::Task<base::Result<McpTools>> list_tools(net::Cancel&) override {
    if (endpoint_.name == "bad") co_return base::error(base::Code::kUpstream, "cannot connect");
    McpTools listed;
    McpTool& tool = listed.tools.emplace_back();
    tool.name = "look";
    tool.input_schema = R"({"type":"object","properties":{"at":{"type":"string"}}})";
    co_return listed;
  }
  net::Task<base::Result<McpOutcome>> call_tool(std::string name, std::string arguments,
                                                net::Cancel&) override {
    if (endpoint_.name == "broken") co_return base::error(base::Code::kUpstream, "connection lost");
    McpOutcome outcome;
    outcome.text = endpoint_.name + " has seen it";
    static_cast<void>(name);
    static_cast<void>(arguments);
    co_return outcome;
  }
  void close() override {}

 private:
  McpEndpoint endpoint_;
};

MakeToolServer fakes() {
  return [](McpEndpoint endpoint) { return std::make_unique<FakeServer>(std::move(endpoint)); };
}

schemas::ChatRequest with_server(const std::string& name, const std::string& text) {
  auto chat_request = request("mock/chat", text);
  chat_request.mcp_servers = {
      {.slug = "", .version = "", .url = "https://" + name + ".example/mcp", .name = name}};
  return chat_request;
}

struct ToolLoop : ::testing::Test {
  ChatFixture dependencies{mock_settings(), ChatFixture::quick(), fakes()};
  Received received;
};

TEST_F(ToolLoop, AServersToolIsRunAndItsResultAnswersWithTheUsageOfAllTurns) {
  const auto end = dependencies.answer(with_server("eye", "eye__look now"), received);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ("The tool said: eye has seen it", end->reply.choices.at(0).content);
  EXPECT_EQ(std::vector<std::string>{"eye__look"}, end->reply.tools.executed);
  EXPECT_EQ(2, end->reply.tools.turns);
  ASSERT_EQ(1u, end->reply.tools.results.size());
  EXPECT_EQ("look", end->reply.tools.results[0].tool_name);
  EXPECT_EQ(R"({"at":"eye__look now"})", end->reply.tools.results[0].arguments);
  EXPECT_GT(end->reply.usage->prompt, 2 + 2);
  EXPECT_EQ(2, received.heads.at(0).attempts);
  EXPECT_EQ(2, received.sendings);
}

TEST_F(ToolLoop, AStreamShowsNoCallOfOursAndFinishesOnce) {
  auto chat_request = with_server("eye", "eye__look now");
  chat_request.stream = true;
  const auto end = dependencies.answer(chat_request, received);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ("The tool said: eye has seen it", received.text());
  EXPECT_EQ(std::vector<std::string>{"stop"}, received.finishes());
  for (const auto& piece : received.pieces) EXPECT_TRUE(piece.tool_calls.empty());
  EXPECT_EQ(2, end->reply.tools.turns);
  EXPECT_TRUE(end->reply.choices.empty());
}

TEST_F(ToolLoop, AnExceptionAfterTheLastTurnFailsThisAnswerAlone) {
  auto chat_request = with_server("eye", "eye__look now");
  chat_request.stream = true;
  received.throws_at = testing::is_finish;
  const auto end = dependencies.answer(chat_request, received);
  ASSERT_FALSE(end);
  EXPECT_EQ(base::Code::kUpstream, end.error().code);
  EXPECT_EQ("The tool said: eye has seen it", received.text());
  EXPECT_EQ(2, received.failed->attempts) << "both turns are charged";
  Received next;
  EXPECT_TRUE(dependencies.answer(chat_request, next));
}

TEST(ToolLoopOfAnthropic, APausedTurnGoesOnBeforeItsToolsAreRun) {
  const auto message = [](const std::string& content, const std::string& reason) {
    return testing::http(200, R"({"content":)" + content + R"(,"stop_reason":")" + reason +
                                  R"(","usage":{"input_tokens":10,"output_tokens":2}})");
  };
  const std::string paused =
      R"([{"type":"text","text":"I search."},)"
      R"({"type":"server_tool_use","id":"s","name":"web_search","input":{"query":"q"}}])";
  const std::string calls = R"([{"type":"web_search_tool_result","tool_use_id":"s","content":[]},)"
                            R"({"type":"text","text":" I look."},)"
                            R"({"type":"tool_use","id":"t","name":"eye__look","input":{}}])";
  testing::ScriptedUpstream upstream({message(paused, "pause_turn"), message(calls, "tool_use"),
                                      message(R"([{"type":"text","text":"done"}])", "end_turn")});
  ChatFixture dependencies(testing::models({testing::upstream_row("a/m", upstream, "anthropic")}),
                           ChatFixture::quick(), fakes());
  Received received;
  auto chat_request = with_server("eye", "look");
  chat_request.models = {"a/m"};
  chat_request.body["web_search_options"] = schemas::Json::object();
  const auto end = dependencies.answer(chat_request, received);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ("I search. I look.\n\ndone", end->reply.choices.at(0).content);
  EXPECT_EQ(2, end->reply.tools.turns);
  ASSERT_EQ(3u, upstream.bodies().size());
  const schemas::Json last = schemas::Json::parse(upstream.bodies()[2])["messages"];
  schemas::Json expected = schemas::Json::parse(paused);
  for (const auto& block : schemas::Json::parse(calls)) expected.push_back(block);
  ASSERT_EQ(3u, last.size());
  EXPECT_EQ(expected, last[1]["content"]);
  EXPECT_EQ("t", last[2]["content"][0]["tool_use_id"]);
}

TEST_F(ToolLoop, WithoutExecutionTheCallGoesToTheClient) {
  auto chat_request = with_server("eye", "eye__look now");
  chat_request.execute_tools = false;
  chat_request.stream = true;
  const auto end = dependencies.answer(chat_request, received);
  ASSERT_TRUE(end);
  EXPECT_EQ(std::vector<std::string>{"tool_calls"}, received.finishes());
  ASSERT_FALSE(received.pieces.empty());
  ASSERT_EQ(1u, received.pieces[0].tool_calls.size());
  EXPECT_EQ("eye__look", received.pieces[0].tool_calls[0].name);
  EXPECT_EQ(0, received.pieces[0].tool_calls[0].index);
  EXPECT_TRUE(end->reply.tools.executed.empty());
}

TEST_F(ToolLoop, AtMaxTurnsTheCallsThatWereNotRunAreReturned) {
  auto chat_request = with_server("eye", "eye__look now");
  chat_request.max_turns = 1;
  const auto end = dependencies.answer(chat_request, received);
  ASSERT_TRUE(end);
  EXPECT_EQ("tool_calls", end->reply.choices.at(0).finish_reason);
  EXPECT_EQ(1u, end->reply.choices[0].tool_calls.size());
  EXPECT_EQ(1, end->reply.tools.turns);
  EXPECT_TRUE(end->reply.tools.executed.empty());
}

TEST_F(ToolLoop, AServerThatFailsIsReportedAndTheRequestContinuesWithoutIt) {
  auto chat_request = with_server("bad", "hello");
  chat_request.mcp_servers.push_back({.slug = "nobody", .version = "", .url = "", .name = ""});
  const auto end = dependencies.answer(chat_request, received);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ("hello", end->reply.choices.at(0).content);
  ASSERT_EQ(2u, end->reply.tools.errors.size());
  EXPECT_EQ("nobody", end->reply.tools.errors[0].server_name);
  EXPECT_EQ("not_found", end->reply.tools.errors[0].code);
  EXPECT_EQ("bad", end->reply.tools.errors[1].server_name);
  EXPECT_EQ("upstream_error", end->reply.tools.errors[1].code);
}

TEST_F(ToolLoop, ACallThatIsLostIsSentToTheModelAsAnError) {
  const auto end = dependencies.answer(with_server("broken", "broken__look"), received);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ("The tool said: Error: connection lost", end->reply.choices.at(0).content);
  EXPECT_TRUE(end->reply.tools.results.at(0).is_error);
}

TEST_F(ToolLoop, AClientsOwnToolIsReturnedWhileServersStandBy) {
  auto chat_request = with_server("eye", "use get_weather");
  chat_request.body["tools"] = {testing::tool("get_weather")};
  chat_request.stream = true;
  const auto end = dependencies.answer(chat_request, received);
  ASSERT_TRUE(end);
  EXPECT_EQ("get_weather", received.pieces.at(0).tool_calls.at(0).name);
  EXPECT_EQ(std::vector<std::string>{"tool_calls"}, received.finishes());
}

// A server whose tool call ends only when the run is cancelled.
struct SlowTools : ::testing::Test {
  class Server final : public ToolServer {
   public:
    explicit Server(SlowTools& seen) : seen_(seen) {}
    net::Task<base::Result<McpTools>> list_tools(net::Cancel&) override {
      McpTools listed;
      McpTool& tool = listed.tools.emplace_back();
      tool.name = "look";
      tool.input_schema = R"({"type":"object","properties":{}})";
      co_return listed;
    }
    net::Task<base::Result<McpOutcome>> call_tool(std::string, std::string, net::Cancel& cancel) override {
      net::StartCall<bool> begin = [](std::function<void(bool)>) -> std::function<void()> { return {}; };
      net::Task<std::optional<bool>> wait =
          net::cancellable<bool>(seen_.dependencies.loop, std::move(begin), cancel);
      seen_.called = true;
      co_await wait;
      co_return base::error(base::Code::kJobCancelled, "cancelled");
    }
    void close() override { seen_.closed = true; }

   private:
    SlowTools& seen_;
  };
  void begin(bool stream) {
    auto chat_request = with_server("eye", "eye__look now");
    chat_request.stream = stream;
    dependencies.start(std::move(chat_request), received);
    ASSERT_TRUE(support::wait_until([&] { return called.load(); }));
  }
  std::size_t heads() {
    const std::lock_guard lock(received.mutex);
    return received.heads.size();
  }

  std::atomic<bool> called{false}, closed{false};
  Received received;
  ChatFixture dependencies{mock_settings(), ChatFixture::quick(),
                           [this](McpEndpoint) { return std::make_unique<Server>(*this); }};
};

TEST_F(SlowTools, AStreamsHeadIsSentBeforeAToolIsRun) {
  begin(true);
  EXPECT_EQ(1u, heads());
  EXPECT_TRUE(dependencies.chat.stop());
}

TEST_F(SlowTools, AWholeAnswersHeadIsNot) {
  begin(false);
  EXPECT_EQ(0u, heads());
  EXPECT_TRUE(dependencies.chat.stop());
}

TEST_F(SlowTools, AStoppedChatHasNoRunLeftAndHasClosedItsServers) {
  begin(true);
  EXPECT_TRUE(dependencies.chat.stop());
  EXPECT_TRUE(closed);
  EXPECT_FALSE(received.end);
  EXPECT_TRUE(dependencies.chat.stop());
}

}  // namespace
}  // namespace millrace::inference
