#include "ai/inference/chat/tool_box.h"

#include <future>

#include <gtest/gtest.h>

#include "tests/unit/inference/rows.h"

namespace millrace::inference {
namespace {

using schemas::Json;

// Returns `bytes` bytes at each call.
class Talker final : public ToolServer {
 public:
  Talker(std::size_t bytes, int& called, int left_out, std::size_t picture)
      : bytes_(bytes), called_(called), left_out_(left_out), picture_(picture) {}
  net::Task<base::Result<McpTools>> list_tools(net::Cancel&) override {
    McpTools listed;
    McpTool& tool = listed.tools.emplace_back();
    tool.name = "say";
    tool.input_schema = R"({"type":"object","properties":{}})";
    for (int i = 0; i < left_out_; ++i) listed.left_out.push_back({"t" + std::to_string(i), "no object"});
    co_return listed;
  }
  net::Task<base::Result<McpOutcome>> call_tool(std::string, std::string, net::Cancel&) override {
    ++called_;
    McpOutcome outcome;
    outcome.text.assign(bytes_, 'x');
    if (picture_ > 0) outcome.pictures.emplace_back(picture_, 'p');
    co_return outcome;
  }
  void close() override {}

 private:
  std::size_t bytes_;
  int& called_;
  int left_out_;
  std::size_t picture_;
};

struct Box : ::testing::Test {
  net::Task<void> work(std::vector<std::size_t> turns) {
    ToolBox box(*shared, *models, cancel);
    schemas::ChatRequest request = testing::request("mock/chat");
    request.mcp_servers = {{.url = url}};
    net::Task<void> open = box.open(request, report);
    co_await open;
    tool_name = request.body["tools"].at(0)["function"]["name"];
    for (const std::size_t turn : turns) {
      std::vector<schemas::ToolCall> calls(turn);
      for (schemas::ToolCall& call : calls) call.name = tool_name;
      net::Task<std::vector<schemas::ToolResult>> wait = box.call(std::move(calls), report);
      results.push_back(co_await wait);
    }
  }
  void run(std::size_t bytes, std::vector<std::size_t> turns) {
    const MakeToolServer servers = [&](McpEndpoint) {
      return std::make_unique<Talker>(bytes, called, left_out, picture);
    };
    shared.emplace(Chat::Dependencies{loop, client, guard, pool, metrics, servers}, models, ChatOptions());
    std::promise<void> ended;
    loop.post([&] { net::spawn(work(std::move(turns)), [&] { ended.set_value(); }); });
    ended.get_future().wait();
  }
  std::size_t errors() const {
    std::size_t count = 0;
    for (const schemas::McpToolResult& each : report.results) count += each.is_error ? 1 : 0;
    return count;
  }

  base::Metrics metrics;
  net::Loop loop{"test"};
  net::HttpClient client{loop};
  net::FetchGuard guard{{}};
  base::Pool pool{{}};
  RegistryPtr models = testing::registry({});
  net::Cancel cancel;
  std::optional<ChatShared> shared;
  std::string url = "https://tools.example/mcp", tool_name;
  schemas::ToolReport report;
  std::vector<std::vector<schemas::ToolResult>> results;
  int called = 0, left_out = 0;
  std::size_t picture = 0;  // bytes of the picture in each result
};

TEST_F(Box, CallsBeyondTheBoundOfATurnAreAnsweredWithAnErrorThatNamesIt) {
  run(1, {ToolBox::kCallsPerTurn + 3, 1});
  EXPECT_EQ(static_cast<int>(ToolBox::kCallsPerTurn) + 1, called);
  ASSERT_EQ(ToolBox::kCallsPerTurn + 3, results.at(0).size());
  EXPECT_EQ("x", results[0][ToolBox::kCallsPerTurn - 1].text);
  EXPECT_NE(std::string::npos, results[0].back().text.find("at most 64 tool calls"))
      << results[0].back().text;
  EXPECT_EQ(3u, errors());
  EXPECT_EQ("say", report.results[ToolBox::kCallsPerTurn].tool_name);
  EXPECT_EQ("x", results.at(1).at(0).text);
}

TEST_F(Box, ResultsBeyondTheBytesOfARequestAreErrorsOverAllTurns) {
  run(ToolBox::kResultBytesMax / 4, {3, 3});
  EXPECT_EQ(2u, errors());
  EXPECT_EQ(4, called);
  EXPECT_NE(std::string::npos, results.at(1).at(2).text.find("at most 8 MiB")) << results[1][2].text;
}

TEST_F(Box, PicturesHaveABoundOfTheirOwnAndTheirTextStays) {
  picture = ToolBox::kPictureBytesMax / 4;
  run(1, {3, 3});
  EXPECT_EQ(0u, errors());
  EXPECT_EQ(6, called);
  const auto pictures = [&](std::size_t turn, std::size_t i) {
    return results.at(turn).at(i).pictures.size();
  };
  EXPECT_EQ(1u, pictures(1, 0));
  EXPECT_EQ(0u, pictures(1, 1));
  EXPECT_EQ("x", results.at(1).at(2).text);
}

TEST_F(Box, ToolsThatAreLeftOutAreOneErrorOfTheirServerAndTheOthersAreOffered) {
  left_out = 2;
  run(1, {1});
  EXPECT_EQ("tools_example__say", tool_name);
  EXPECT_EQ(1, called);
  ASSERT_EQ(1u, report.errors.size());
  EXPECT_EQ("tools.example", report.errors[0].server_name);
  EXPECT_EQ("upstream_error", report.errors[0].code);
  EXPECT_EQ("2 tools were left out: 't0': no object; 't1': no object", report.errors[0].message);
}

TEST_F(Box, OfManyLeftOutToolsTheFirstAreNamed) {
  left_out = 400;
  run(1, {});
  ASSERT_EQ(1u, report.errors.size());
  EXPECT_TRUE(report.errors[0].message.ends_with("'t9': no object; and 390 more"))
      << report.errors[0].message;
}

TEST_F(Box, AServerWithoutANameHasThatOfItsHost) {
  url = "https://[2001:4860::1]:443/mcp";
  run(1, {});
  EXPECT_EQ("2001_4860__1__say", tool_name);
}

}  // namespace
}  // namespace millrace::inference
