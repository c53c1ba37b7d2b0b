#include <optional>

#include <gtest/gtest.h>

#include "ai/inference/mcp/client.h"
#include "tests/support/wait_until.h"
#include "tests/unit/inference/scripted_upstream.h"

namespace millrace::inference {
namespace {

using base::Code;
using schemas::Json;
using std::chrono::milliseconds;
using testing::http;
using testing::ScriptedUpstream;
using ListResult = base::Result<McpTools>;
using CallResult = base::Result<McpOutcome>;

constexpr milliseconds kShort{60};

Json fresh_for(int ms) { return {{"ttlMs", ms}, {"cacheScope", "public"}}; }

std::string page(int id, std::vector<std::string> names, const std::string& cursor = {},
                 const Json& more = Json::object()) {
  Json tools = Json::array();
  for (std::string& name : names)
    tools.push_back({{"name", std::move(name)}, {"inputSchema", {{"type", "object"}}}});
  Json result{{"resultType", "complete"}, {"tools", std::move(tools)}};
  if (!cursor.empty()) result["nextCursor"] = cursor;
  result.update(more);
  return http(200, Json{{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}}.dump());
}

// A client of a server that sends one scripted reply per request.
class McpClients : public ::testing::Test {
 protected:
  ListResult list(ScriptedUpstream& server) {
    return answer<ListResult>(
        server, [](McpClient& client, net::Cancel& cancel) { return client.list_tools(cancel); });
  }
  CallResult call(ScriptedUpstream& server) {
    return answer<CallResult>(
        server, [](McpClient& client, net::Cancel& cancel) { return client.call_tool("t", "{}", cancel); });
  }
  void cancel_when(ScriptedUpstream& server, std::size_t requests) {
    EXPECT_TRUE(server.wait_for_requests(requests));
    loop_.post([this] { cancel_.request(); });
  }

  template <class T>
  T answer(ScriptedUpstream& server, std::function<net::Task<T>(McpClient&, net::Cancel&)> ask,
           std::size_t cancel_at = 0) {
    McpEndpoint endpoint;
    endpoint.url = server.base_url();
    endpoint.version = version_;
    endpoint.guarded = false;
    const McpClient::Dependencies dependencies{loop_, http_, guard_, cache_};
    McpClient client(dependencies, std::move(endpoint), limits_);
    std::optional<T> answer;
    std::mutex mutex;
    std::condition_variable changed;
    const auto keep = [&](T result) {
      const std::lock_guard lock(mutex);
      answer.emplace(std::move(result));
      changed.notify_all();
    };
    loop_.post([&] { net::spawn(into<T>(ask(client, cancel_), keep)); });
    if (cancel_at > 0) cancel_when(server, cancel_at);
    std::unique_lock lock(mutex);
    EXPECT_TRUE(support::wait_until(changed, lock, [&] { return answer.has_value(); }));
    return answer ? *std::move(answer) : T(base::error(Code::kInternal, "no answer"));
  }

  std::size_t list_of(ScriptedUpstream& server) {
    const ListResult tools = list(server);
    EXPECT_TRUE(tools) << tools.error().message;
    return tools ? tools->tools.size() : 0;
  }

  McpLimits limits_;
  std::string version_ = "2026-07-28";

 private:
  template <class T>
  static net::Task<void> into(net::Task<T> task, std::function<void(T)> keep) {
    T result = co_await task;
    keep(std::move(result));
  }

  net::Loop loop_{"mcp test"};
  net::HttpClient http_{loop_};
  net::FetchGuard guard_{{}};
  McpCache cache_;
  net::Cancel cancel_;
};

TEST_F(McpClients, TheToolsOfAllPagesAreListedEachOnce) {
  ScriptedUpstream server({page(1, {"a", "b"}, "2"), page(2, {"b", "c"})});
  const ListResult tools = list(server);
  ASSERT_TRUE(tools);
  ASSERT_EQ(3u, tools->tools.size());
  EXPECT_EQ("c", tools->tools[2].name);
  ASSERT_EQ(1u, tools->left_out.size());
  EXPECT_EQ("b", tools->left_out[0].name);
  EXPECT_EQ("another tool has its name", tools->left_out[0].reason);
  EXPECT_EQ("2", Json::parse(server.bodies().at(1))["params"]["cursor"]);
}

TEST_F(McpClients, NumbersOfArgumentsKeepTheirSpelling) {
  const std::string arguments = R"({"a":12345678901234567890123,"b":1e400,"c":1.5})";
  ScriptedUpstream server(
      {page(1, {"t"}), http(200, R"({"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","content":[],
      "structuredContent":{"n":98765432109876543210987}}})")});
  const CallResult called = answer<CallResult>(server, [&](McpClient& client, net::Cancel& cancel) {
    return client.call_tool("t", arguments, cancel);
  });
  ASSERT_TRUE(called) << called.error().message;
  EXPECT_NE(std::string::npos, server.bodies().at(1).find(R"("arguments":)" + arguments))
      << server.bodies().at(1);
  EXPECT_NE(std::string::npos, called->text.find("98765432109876543210987")) << called->text;
}

TEST_F(McpClients, PagesInACircleAreAnError) {
  ScriptedUpstream server({page(1, {"a"}, "x"), page(2, {"b"}, "x")});
  const ListResult tools = list(server);
  ASSERT_FALSE(tools);
  EXPECT_EQ("the server repeats a page cursor in its list of tools", tools.error().message);
}

TEST_F(McpClients, MoreToolsOrPagesThanTheBoundAreAnError) {
  limits_.tools_max = 1;
  ScriptedUpstream many({page(1, {"a", "b"})});
  EXPECT_EQ("the server lists more than 1 tools", list(many).error().message);
  limits_.pages_max = 1;
  ScriptedUpstream long_list({page(1, {"a"}, "x")});
  EXPECT_EQ("the server lists more than 1 pages of tools", list(long_list).error().message);
}

TEST_F(McpClients, AListThatDoesNotComeInTimeIsATimeOut) {
  limits_.list_timeout = kShort;
  ScriptedUpstream server({""});
  const ListResult tools = list(server);
  ASSERT_FALSE(tools);
  EXPECT_EQ(Code::kUpstreamTimeout, tools.error().code);
}

TEST_F(McpClients, InitializeHasAShorterTimeoutThanList) {
  version_.clear();
  limits_.initialize_timeout = kShort;
  ScriptedUpstream server({http(400, "{}"), ""});
  const ListResult tools = list(server);
  ASSERT_FALSE(tools);
  EXPECT_EQ(Code::kUpstreamTimeout, tools.error().code);
  EXPECT_EQ("the server did not finish initialize within 60 ms (initialize_timeout)", tools.error().message);
  EXPECT_TRUE(server.wait_for_caller_gone());
  EXPECT_EQ(2u, server.bodies().size());
}

TEST_F(McpClients, AServerThatRefusesInitializeAndItsStreamIsReportedByItsRefusal) {
  version_.clear();
  limits_.endpoint_timeout = kShort;
  ScriptedUpstream server({http(400, "{}"), http(405, "no"), ""});
  const ListResult tools = list(server);
  ASSERT_FALSE(tools);
  EXPECT_EQ("the server refused initialize (HTTP 405)", tools.error().message);
  EXPECT_EQ(3u, server.bodies().size());
}

TEST_F(McpClients, ACallThatIsNotAnsweredInTimeIsATimeOutAndSentOnce) {
  limits_.call_timeout = kShort;
  ScriptedUpstream server({page(1, {"t"}), ""});
  const CallResult outcome = call(server);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(Code::kUpstreamTimeout, outcome.error().code);
  EXPECT_TRUE(server.wait_for_caller_gone());
  EXPECT_EQ(2u, server.bodies().size());
}

TEST_F(McpClients, ACancelEndsACallAndItsConnection) {
  ScriptedUpstream server({page(1, {"t"}), ""});
  const CallResult outcome = answer<CallResult>(
      server, [](McpClient& client, net::Cancel& cancel) { return client.call_tool("t", "{}", cancel); }, 2);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(Code::kJobCancelled, outcome.error().code);
  EXPECT_TRUE(server.wait_for_caller_gone());
}

TEST_F(McpClients, ARefusalOfTheServerIsQuoted) {
  ScriptedUpstream server(
      {page(1, {"t"}),
       http(200, R"({"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"no such tool"}})")});
  const CallResult outcome = call(server);
  ASSERT_FALSE(outcome);
  EXPECT_EQ("the server refused tools/call (code -32602): no such tool", outcome.error().message);
}

TEST_F(McpClients, AnUnauthorizedResponseIsNotRetriedWithTheOlderProtocol) {
  ScriptedUpstream server({http(401, "{}")});
  const ListResult tools = list(server);
  ASSERT_FALSE(tools);
  EXPECT_NE(std::string::npos, tools.error().message.find("HTTP 401"));
  EXPECT_EQ(1u, server.bodies().size());
}

TEST_F(McpClients, ALaterConversationTakesAListThatIsFreshWithoutAsking) {
  ScriptedUpstream server({page(1, {"a"}, {}, fresh_for(60'000)), page(1, {"a", "b"})});
  EXPECT_EQ(1u, list_of(server));
  EXPECT_EQ(1u, list_of(server));
  EXPECT_EQ(1u, server.bodies().size());
}

TEST_F(McpClients, AListThatIsFreshForNoTimeOrAnUnknownTimeIsRequestedAgain) {
  ScriptedUpstream stale({page(1, {"a"}, {}, fresh_for(0)), page(1, {"a", "b"}), page(1, {"a", "b", "c"})});
  EXPECT_EQ(1u, list_of(stale));
  EXPECT_EQ(2u, list_of(stale));
  EXPECT_EQ(3u, list_of(stale));
}

TEST_F(McpClients, TheShortestTimeOfThePagesIsTheLists) {
  ScriptedUpstream server({page(1, {"a"}, "2", fresh_for(60'000)), page(2, {"b"}, {}, fresh_for(0)),
                           page(1, {"c"}, {}, fresh_for(0))});
  EXPECT_EQ(2u, list_of(server));
  EXPECT_EQ(1u, list_of(server));
}

TEST_F(McpClients, AFailedCallOrAListChangedNotificationClearsTheCache) {
  const std::string kept = page(1, {"t"}, {}, fresh_for(60'000));
  ScriptedUpstream failing(
      {kept, http(200, R"({"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no such tool"}})"),
       kept});
  EXPECT_EQ(1u, list_of(failing));
  EXPECT_FALSE(call(failing));
  EXPECT_EQ(1u, list_of(failing));
  EXPECT_EQ(3u, failing.bodies().size());

  const std::string notice = R"(data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"})";
  ScriptedUpstream changing(
      {kept,
       testing::event_stream(notice + "\n\n" + R"(data: {"jsonrpc":"2.0","id":1,"result":{"content":[]}})" +
                             "\n\n"),
       kept});
  EXPECT_EQ(1u, list_of(changing));
  EXPECT_TRUE(call(changing));
  EXPECT_EQ(1u, list_of(changing));
  EXPECT_EQ(3u, changing.bodies().size());
}

}  // namespace
}  // namespace millrace::inference
