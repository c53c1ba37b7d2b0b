#include "ai/inference/chat/chat.h"

#include <gtest/gtest.h>

#include "tests/unit/inference/chat_fixture.h"

namespace millrace::inference {
namespace {

using base::Code;
using testing::ChatFixture;
using testing::mock_settings;
using testing::Received;
using testing::request;
using testing::streamed;

TEST(Chat, AWholeAnswerComesWithItsHeadUsageAndOneEnd) {
  Received received;
  ChatFixture dependencies(mock_settings());
  const auto end = dependencies.answer(request("mock/chat", "hello there"), received);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ("hello there", end->reply.choices.at(0).content);
  EXPECT_EQ("stop", end->reply.choices.at(0).finish_reason);
  EXPECT_EQ(4, end->reply.usage.value().total);
  ASSERT_EQ(1u, received.heads.size());
  EXPECT_EQ("mock/chat", received.heads[0].model);
  EXPECT_EQ(1, received.heads[0].attempts);
  EXPECT_EQ(1, received.sendings);
  EXPECT_TRUE(received.pieces.empty());
}

TEST(Chat, AUrlThatAProviderIsToFetchIsPublicHttpsOrOfAnOpenedHost) {
  ChatFixture dependencies(mock_settings());
  schemas::ChatRequest chat_request = request("mock/chat");
  chat_request.urls = {{"https://example.com/a.png", "messages.0.content.1.image_url.url"},
                       {"http://files.local/b.png", "messages.0.content.2.image_url.url"}};
  EXPECT_TRUE(dependencies.chat.check(chat_request));
  chat_request.urls.push_back({"https://169.254.169.254/x", "messages.0.content.3.file.file_url"});
  const base::Status verdict = dependencies.chat.check(chat_request);
  ASSERT_FALSE(verdict);
  EXPECT_EQ(Code::kFetchRefused, verdict.error().code);
  EXPECT_EQ("messages.0.content.3.file.file_url", verdict.error().param);
}

TEST(Chat, AnUnknownModelIsRefusedWithTheKnownOnes) {
  ModelSettings settings = mock_settings();
  schemas::ChatRequest chat_request = request("mock/chat");
  chat_request.mcp_servers = {{.slug = "office", .field = "mcp_servers.0"},
                              {.slug = "offce", .field = "mcp_servers.1"}};
  const auto refusal = [&] { return ChatFixture(settings).chat.check(chat_request).error(); };
  EXPECT_EQ("there is no MCP server 'office' in the gateway's configuration: it has none", refusal().message);
  settings.mcp_slugs = {{.slug = "office", .url = "http://a/mcp", .version = {}, .headers = {}},
                        {.slug = "files", .url = "http://b/mcp", .version = {}, .headers = {}}};
  EXPECT_EQ(Code::kInvalidField, refusal().code);
  EXPECT_EQ("mcp_servers.1", refusal().param);
  EXPECT_EQ("there is no MCP server 'offce' in the gateway's configuration: it has 'office', 'files'",
            refusal().message);
  chat_request.mcp_servers.pop_back();
  EXPECT_TRUE(ChatFixture(settings).chat.check(chat_request));
}

TEST(Chat, AStreamComesPieceByPieceBehindItsHeadAndEndsWithoutChoices) {
  Received received;
  ChatFixture dependencies(mock_settings());
  const auto end = dependencies.answer(streamed(request("mock/chat", "one two three")), received);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ("one two three", received.text());
  EXPECT_EQ(4u, received.pieces.size());
  EXPECT_EQ(std::vector<std::string>{"stop"}, received.finishes());
  EXPECT_TRUE(end->reply.choices.empty());
  EXPECT_TRUE(end->reply.usage);
  EXPECT_EQ(1u, received.heads.size());
}

TEST(Chat, AReaderThatIsNotReadyHoldsTheStreamUntilItResumes) {
  Received received;
  received.ready = false;
  ChatFixture dependencies(mock_settings());
  const auto run = dependencies.start(streamed(request("mock/chat", "one two")), received);
  dependencies.on_loop([] {});
  dependencies.on_loop([] {});
  EXPECT_TRUE(received.pieces.empty());
  {
    const std::lock_guard lock(received.mutex);
    received.ready = true;
  }
  dependencies.on_loop([&] { run->resume(); });
  EXPECT_TRUE(received.ended());
  EXPECT_EQ("one two", received.text());
}

TEST(Chat, NothingIsDeliveredAfterACancel) {
  Received received;
  received.ready = false;
  ChatFixture dependencies(mock_settings());
  const auto run = dependencies.start(streamed(request("mock/chat", "one two")), received);
  dependencies.on_loop([&] { run->cancel(); });
  {
    const std::lock_guard lock(received.mutex);
    received.ready = true;
  }
  dependencies.on_loop([&] { run->resume(); });
  dependencies.on_loop([] {});
  EXPECT_TRUE(received.heads.empty());
  EXPECT_TRUE(received.pieces.empty());
  EXPECT_FALSE(received.end);
}

TEST(Chat, ASinkThatRefusesBeforeSendingEndsTheRequestUnsent) {
  Received received;
  received.goes = false;
  ChatFixture dependencies(mock_settings());
  const auto end = dependencies.answer(request("mock/chat"), received);
  ASSERT_FALSE(end);
  EXPECT_EQ(Code::kJobCancelled, end.error().code);
  EXPECT_TRUE(received.heads.empty());
}

TEST(Chat, AnUnknownModelIsRefusedByCheckAndByStart) {
  Received received;
  ChatFixture dependencies(mock_settings());
  EXPECT_EQ(Code::kModelNotFound, dependencies.chat.check(request("mock/chit")).error().code);
  EXPECT_EQ(Code::kModelNotFound, dependencies.answer(request("mock/chit"), received).error().code);
  EXPECT_TRUE(received.heads.empty());
  EXPECT_TRUE(dependencies.chat.check(request("mock/chat")));
  EXPECT_EQ("mock/chat", dependencies.chat.first_choice(request("mock/chat")));
}

TEST(Chat, ADeferredRequestThatNoProviderCanGetIsRefusedByCheck) {
  ModelSettings settings = mock_settings();
  settings.models = {testing::row("a/m", "anthropic")};
  const ChatFixture dependencies(settings);
  auto chat_request = request("a/m", " ");
  EXPECT_TRUE(dependencies.chat.check(chat_request)) << "a direct request gets the error as its answer";
  chat_request.deferred = true;
  const base::Status refused = dependencies.chat.check(chat_request);
  ASSERT_FALSE(refused);
  EXPECT_EQ(Code::kInvalidField, refused.error().code);
  EXPECT_EQ("messages", refused.error().param);
  chat_request.models.emplace_back("mock/chat");
  EXPECT_TRUE(dependencies.chat.check(chat_request)) << "the fallback can";
  EXPECT_TRUE(dependencies.chat.check([] {
    auto good = request("a/m", "hello");
    good.deferred = true;
    return good;
  }()));
}

TEST(Chat, ThePriceOfTheRowIsTheCostOfTheRequest) {
  ModelSettings settings = mock_settings();
  settings.models = {testing::row("a/b")};
  settings.models[0].price = Price{.prompt = 1e6, .completion = 2e6, .cached = {}};
  Received received, unpriced;
  ChatFixture dependencies(settings);
  const auto end = dependencies.answer(request("a/b", "one two"), received);
  ASSERT_TRUE(end);
  EXPECT_DOUBLE_EQ(2 + 2 * 2, end->cost_usd.value());
  EXPECT_FALSE(dependencies.answer(request("mock/chat"), unpriced)->cost_usd);
}

TEST(Chat, AModelAtItsLimitSendsDirectRequestsAwayAndKeepsDeferredOnesWaiting) {
  ModelSettings settings;
  settings.models = {testing::row("a/b")};
  settings.models[0].limits.concurrent = 1;
  ChatFixture dependencies(settings);
  Received slow, direct, deferred;
  slow.ready = false;
  const auto run = dependencies.start(streamed(request("a/b")), slow);
  const auto refused = dependencies.answer(request("a/b"), direct);
  ASSERT_FALSE(refused);
  EXPECT_EQ(Code::kRateLimited, refused.error().code);
  EXPECT_GT(refused.error().retry_after.count(), 0);
  auto later = request("a/b");
  later.deferred = true;
  dependencies.start(later, deferred);
  dependencies.on_loop([] {});
  dependencies.on_loop([] {});
  EXPECT_EQ(1, dependencies.chat.health().at(0).running);
  EXPECT_EQ(1, dependencies.chat.health().at(0).waiting);
  EXPECT_FALSE(deferred.end);
  dependencies.on_loop([&] { run->cancel(); });
  ASSERT_TRUE(deferred.ended());
  EXPECT_TRUE(*deferred.end);
}

TEST(Chat, TokensAndCallsAreCountedByConfiguredNames) {
  Received received;
  ChatFixture dependencies(mock_settings());
  ASSERT_TRUE(dependencies.answer(streamed(request("mock/chat", "one two")), received));
  const std::string metrics = dependencies.metrics.scrape();
  for (const char* line : {"millrace_tokens_total{model=\"mock/chat\",type=\"prompt\"} 2",
                           "millrace_tokens_total{model=\"mock/chat\",type=\"completion\"} 2",
                           "millrace_upstream_duration_seconds_count{model=\"mock/chat\"} 1",
                           "millrace_time_to_first_token_seconds_count{model=\"mock/chat\"} 1",
                           "millrace_upstream_breaker_state{model=\"mock/chat\"} 0"})
    EXPECT_NE(std::string::npos, metrics.find(line)) << line << "\n" << metrics;
}

TEST(MockChat, ToolsAreCalledWhenTheMessageNamesThemAndTheirResultsAreRepeated) {
  ChatFixture dependencies(mock_settings());
  auto chat_request = request("mock/chat", "call get_weather please");
  chat_request.body["tools"] = {testing::tool("get_weather")};
  Received first, streaming, second;
  const auto end = dependencies.answer(chat_request, first);
  ASSERT_TRUE(end);
  ASSERT_EQ(1u, end->reply.choices[0].tool_calls.size());
  EXPECT_EQ("get_weather", end->reply.choices[0].tool_calls[0].name);
  EXPECT_EQ(R"({"city":"call get_weather please"})", end->reply.choices[0].tool_calls[0].arguments);
  EXPECT_EQ("tool_calls", end->reply.choices[0].finish_reason);
  ASSERT_TRUE(dependencies.answer(streamed(chat_request), streaming));
  EXPECT_EQ(std::vector<std::string>{"tool_calls"}, streaming.finishes());
  schemas::append_turn(chat_request, end->reply.choices[0],
                       {{end->reply.choices[0].tool_calls[0].id, "sunny"}});
  EXPECT_EQ("The tool said: sunny", dependencies.answer(chat_request, second)->reply.choices[0].content);
}

TEST(MockChat, AResponseFormatGetsJsonOfItsShape) {
  ChatFixture dependencies(mock_settings());
  auto chat_request = request("mock/chat", "x");
  chat_request.needs_format = true;
  chat_request.body["response_format"] = schemas::Json::parse(
      R"({"type":"json_schema","json_schema":{"schema":{"type":"object","properties":{
          "name":{"type":"string"},"n":{"type":"integer"},"kind":{"enum":["a","b"]}}}}})");
  Received received;
  const auto end = dependencies.answer(chat_request, received);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(R"({"name":"x","n":1,"kind":"a"})", end->reply.choices[0].content);
}

TEST(MockChat, StopAndTheMostTokensCutItsAnswer) {
  ChatFixture dependencies(mock_settings());
  auto chat_request = request("mock/chat", "one two three four");
  chat_request.body["max_completion_tokens"] = 2;
  Received first, second;
  EXPECT_EQ("length", dependencies.answer(chat_request, first)->reply.choices[0].finish_reason);
  chat_request.body["stop"] = {"two"};
  const auto end = dependencies.answer(chat_request, second);
  EXPECT_EQ("one ", end->reply.choices[0].content);
  EXPECT_EQ("stop", end->reply.choices[0].finish_reason);
}

}  // namespace
}  // namespace millrace::inference
