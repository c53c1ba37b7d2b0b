#include <atomic>

#include <gtest/gtest.h>

#include "ai/inference/chat/chat.h"
#include "platform/net/http/http_task.h"
#include "tests/unit/inference/chat_fixture.h"

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
  auto asked = request("mock/chat", text);
  asked.mcp_servers = {{.slug = "", .version = "", .url = "https://" + name + ".example/mcp", .name = name}};
  return asked;
}

struct ToolLoop : ::testing::Test {
  ChatFixture dependencies{mock_settings(), ChatFixture::quick(), fakes()};
  Received heard;
};

TEST_F(ToolLoop, AServersToolIsRunAndItsResultAnswersWithTheUsageOfAllTurns) {
  const auto end = dependencies.answer(with_server("eye", "eye__look now"), heard);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ("The tool said: eye has seen it", end->reply.choices.at(0).content);
  EXPECT_EQ(std::vector<std::string>{"eye__look"}, end->reply.tools.executed);
  EXPECT_EQ(2, end->reply.tools.turns);
  ASSERT_EQ(1u, end->reply.tools.results.size());
  EXPECT_EQ("look", end->reply.tools.results[0].tool_name);
  EXPECT_EQ(R"({"at":"eye__look now"})", end->reply.tools.results[0].arguments);
  EXPECT_GT(end->reply.usage->prompt, 2 + 2);
  EXPECT_EQ(2, heard.heads.at(0).attempts);
  EXPECT_EQ(2, heard.sendings);
}

TEST_F(ToolLoop, AStreamShowsNoCallOfOursAndFinishesOnce) {
  auto asked = with_server("eye", "eye__look now");
  asked.stream = true;
  const auto end = dependencies.answer(asked, heard);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ("The tool said: eye has seen it", heard.text());
  EXPECT_EQ(std::vector<std::string>{"stop"}, heard.finishes());
  for (const auto& piece : heard.pieces) EXPECT_TRUE(piece.tool_calls.empty());
  EXPECT_EQ(2, end->reply.tools.turns);
  EXPECT_TRUE(end->reply.choices.empty());
}

TEST_F(ToolLoop, WithoutExecutionTheCallGoesToTheClient) {
  auto asked = with_server("eye", "eye__look now");
  asked.execute_tools = false;
  asked.stream = true;
  const auto end = dependencies.answer(asked, heard);
  ASSERT_TRUE(end);
  EXPECT_EQ(std::vector<std::string>{"tool_calls"}, heard.finishes());
  ASSERT_FALSE(heard.pieces.empty());
  ASSERT_EQ(1u, heard.pieces[0].tool_calls.size());
  EXPECT_EQ("eye__look", heard.pieces[0].tool_calls[0].name);
  EXPECT_EQ(0, heard.pieces[0].tool_calls[0].index);
  EXPECT_TRUE(end->reply.tools.executed.empty());
}

TEST_F(ToolLoop, AtMaxTurnsTheCallsThatWereNotRunAreReturned) {
  auto asked = with_server("eye", "eye__look now");
  asked.max_turns = 1;
  const auto end = dependencies.answer(asked, heard);
  ASSERT_TRUE(end);
  EXPECT_EQ("tool_calls", end->reply.choices.at(0).finish_reason);
  EXPECT_EQ(1u, end->reply.choices[0].tool_calls.size());
  EXPECT_EQ(1, end->reply.tools.turns);
  EXPECT_TRUE(end->reply.tools.executed.empty());
}

TEST_F(ToolLoop, AServerThatFailsIsReportedAndTheRequestContinuesWithoutIt) {
  auto asked = with_server("bad", "hello");
  asked.mcp_servers.push_back({.slug = "nobody", .version = "", .url = "", .name = ""});
  const auto end = dependencies.answer(asked, heard);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ("hello", end->reply.choices.at(0).content);
  ASSERT_EQ(2u, end->reply.tools.errors.size());
  EXPECT_EQ("nobody", end->reply.tools.errors[0].server_name);
  EXPECT_EQ("not_found", end->reply.tools.errors[0].code);
  EXPECT_EQ("bad", end->reply.tools.errors[1].server_name);
  EXPECT_EQ("upstream_error", end->reply.tools.errors[1].code);
}

TEST_F(ToolLoop, ACallThatIsLostIsSentToTheModelAsAnError) {
  const auto end = dependencies.answer(with_server("broken", "broken__look"), heard);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ("The tool said: Error: connection lost", end->reply.choices.at(0).content);
  EXPECT_TRUE(end->reply.tools.results.at(0).is_error);
}

TEST_F(ToolLoop, AClientsOwnToolIsReturnedWhileServersStandBy) {
  auto asked = with_server("eye", "use get_weather");
  asked.body["tools"] = {testing::tool("get_weather")};
  asked.stream = true;
  const auto end = dependencies.answer(asked, heard);
  ASSERT_TRUE(end);
  EXPECT_EQ("get_weather", heard.pieces.at(0).tool_calls.at(0).name);
  EXPECT_EQ(std::vector<std::string>{"tool_calls"}, heard.finishes());
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
    auto asked = with_server("eye", "eye__look now");
    asked.stream = stream;
    dependencies.start(std::move(asked), heard);
    ASSERT_TRUE(support::wait_until([&] { return called.load(); }));
  }
  std::size_t heads() {
    const std::lock_guard lock(heard.mutex);
    return heard.heads.size();
  }

  std::atomic<bool> called{false}, closed{false};
  Received heard;
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
  EXPECT_FALSE(heard.end);
  EXPECT_TRUE(dependencies.chat.stop());
}

}  // namespace
}  // namespace millrace::inference
