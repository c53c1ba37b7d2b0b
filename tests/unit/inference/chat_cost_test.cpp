#include <gtest/gtest.h>

#include "ai/inference/chat/chat.h"
#include "schemas/chat/chat_tokens.h"
#include "tests/support/answer.h"
#include "tests/unit/inference/chat_fixture.h"
#include "tests/unit/inference/scripted_upstream.h"

// What the calls of a chat are charged with, against upstreams over real sockets.
namespace millrace::inference {
namespace {

using schemas::NanoUsd;
using testing::ChatFixture;
using testing::chunk;
using testing::completion;
using testing::event_stream;
using testing::failure;
using testing::http;
using testing::models;
using testing::priced_row;
using testing::Received;
using testing::request;
using testing::ScriptedUpstream;
using testing::streamed;

constexpr NanoUsd kUsageCost = 3 * 1'000 + 2 * 2'000;  // of `completion`

std::string cut_short() { return "HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n{"; }

TEST(ChatCost, AnAnswerIsChargedWithWhatItsUsageCosts) {
  ScriptedUpstream upstream({completion("hi")});
  Received received;
  ChatFixture dependencies(models({priced_row("a/m", upstream)}));
  const auto end = dependencies.answer(request("a/m"), received);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(kUsageCost, end->charged.cost);
  ASSERT_EQ(1u, received.costs.size());
  EXPECT_EQ("a/m", received.costs[0].model);
  EXPECT_EQ(received.costs[0].max, max_cost(priced_row("a/m", upstream), request("a/m")));
  EXPECT_EQ(received.costs[0].max, received.costs[0].run_max);
}

TEST(ChatCost, ACallThatFailedWithAnHttpStatusCostsNothing) {
  ScriptedUpstream upstream({failure(), completion("hi")});
  Received received;
  ChatFixture dependencies(models({priced_row("a/m", upstream)}));
  const auto end = dependencies.answer(request("a/m"), received);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(kUsageCost, end->charged.cost);
  ASSERT_EQ(2u, received.costs.size());
  EXPECT_EQ(received.costs[0].run_max, received.costs[1].run_max);
}

TEST(ChatCost, ACallThatReachesNoServerCostsNothing) {
  Received received;
  ModelRow row = testing::row("a/m", "openai");
  row.target.base_url = "http://127.0.0.1:1/v1";
  row.price = Price{.prompt = 1};
  ChatFixture dependencies(models({row}));
  ASSERT_FALSE(dependencies.answer(request("a/m"), received));
  EXPECT_EQ(0, received.failed_charged);
}

TEST(ChatCost, ACallWhoseConnectionIsLostIsChargedInFullAndSoIsEachRetry) {
  ScriptedUpstream upstream({cut_short()});
  Received received;
  ChatFixture dependencies(models({priced_row("a/m", upstream)}));
  ASSERT_FALSE(dependencies.answer(request("a/m"), received));
  ASSERT_EQ(3u, received.costs.size());
  const NanoUsd each = received.costs[0].max.value();
  EXPECT_EQ(2 * each, received.costs[1].run_max);
  EXPECT_EQ(3 * each, received.costs[2].run_max);
  EXPECT_EQ(3 * each, received.failed_charged);
}

TEST(ChatCost, ACallThatTimesOutIsChargedInFull) {
  ScriptedUpstream upstream({""});
  ModelRow row = priced_row("a/m", upstream);
  row.target.timeouts.first_byte = std::chrono::milliseconds(20);
  Received received;
  ChatOptions options = ChatFixture::quick();
  options.tries_max = 1;
  ChatFixture dependencies(models({row}), options);
  ASSERT_FALSE(dependencies.answer(request("a/m"), received));
  EXPECT_EQ(received.costs.at(0).max, received.failed_charged);
}

TEST(ChatCost, AStreamThatBreaksIsChargedInFull) {
  ScriptedUpstream upstream({event_stream(chunk(R"({"content":"half"})"))});
  Received received;
  ChatFixture dependencies(models({priced_row("a/m", upstream)}));
  ASSERT_FALSE(dependencies.answer(streamed(request("a/m")), received));
  EXPECT_EQ(received.costs.at(0).max, received.failed_charged);
}

TEST(ChatCost, AnAnswerWithoutUsageIsChargedInFull) {
  ScriptedUpstream upstream(
      {event_stream(chunk(R"({"content":"whole"})") + chunk("{}", R"("stop")") + "data: [DONE]\n\n")});
  Received received;
  ChatFixture dependencies(models({priced_row("a/m", upstream)}));
  const auto end = dependencies.answer(streamed(request("a/m")), received);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(received.costs.at(0).max, end->charged.cost);
  EXPECT_LT(*end->cost_usd, schemas::usd(end->charged.cost));
}

TEST(ChatCost, ACancelledRunStillReportsThatItsCallIsChargedInFull) {
  ScriptedUpstream upstream({""});
  Received received;
  ChatFixture dependencies(models({priced_row("a/m", upstream)}));
  const auto run = dependencies.start(request("a/m"), received);
  ASSERT_TRUE(upstream.wait_for_requests(1));
  NanoUsd at_once = 0, later = 0;
  dependencies.on_loop([&] {
    run->cancel();
    at_once = run->charged().cost;
  });
  ASSERT_TRUE(upstream.wait_for_caller_gone());
  dependencies.on_loop([&] { later = run->charged().cost; });
  EXPECT_EQ(received.costs.at(0).max, at_once);
  EXPECT_EQ(at_once, later);
}

// A run that the client leaves: what it is charged with at once and later, and the metrics.
struct Left {
  std::int64_t at_once = 0, later = 0;
  std::string metrics;
};

Left leave(const std::string& answer, const schemas::ChatRequest& chat_request,
           const std::string& first_text) {
  ScriptedUpstream upstream({answer});
  Received received;
  ChatFixture dependencies(models({priced_row("a/m", upstream)}));
  const auto run = dependencies.start(chat_request, received);
  EXPECT_TRUE(upstream.wait_for_requests(1));
  EXPECT_TRUE(received.wait([&] { return received.text() == first_text; }));
  Left left;
  dependencies.on_loop([&] {
    run->cancel();
    left.at_once = run->charged().tokens;
  });
  EXPECT_TRUE(dependencies.chat.stop());
  left.later = run->charged().tokens;
  left.metrics = dependencies.metrics.scrape();
  return left;
}

TEST(ChatCost, AWholeCallThatIsLeftHasTheTokensOfAStreamThatIsLeft) {
  const std::int64_t prompt = estimated_prompt(request("a/m"));
  ASSERT_LT(0, prompt);
  const std::string series =
      R"(millrace_tokens_total{model="a/m",type="prompt"} )" + std::to_string(prompt) + "\n";
  const Left whole = leave("", request("a/m"), "");
  EXPECT_EQ(prompt, whole.at_once);
  EXPECT_EQ(prompt, whole.later);
  EXPECT_NE(std::string::npos, whole.metrics.find(series)) << whole.metrics;
  const Left silent = leave("", streamed(request("a/m")), "");
  EXPECT_EQ(whole.later, silent.later);
}

TEST(ChatCost, EachCallThatFailsWithoutAnErrorStatusHasTokens) {
  const std::int64_t prompt = estimated_prompt(request("a/m"));
  for (const auto& [answer, calls] : {std::pair(cut_short(), 3), std::pair(failure(), 0)}) {
    ScriptedUpstream upstream({answer});
    Received received;
    ChatFixture dependencies(models({priced_row("a/m", upstream)}));
    ASSERT_FALSE(dependencies.answer(request("a/m"), received));
    EXPECT_EQ(calls * prompt, received.failed_tokens) << answer;
  }
  Received uncalled;
  ModelRow row = testing::row("a/m", "openai");
  row.target.base_url = "http://127.0.0.1:1/v1";
  ChatFixture dependencies(models({row}));
  ASSERT_FALSE(dependencies.answer(request("a/m"), uncalled));
  EXPECT_EQ(0, uncalled.failed_tokens);
}

TEST(ChatCost, AnAnswerHasTheTokensOfTheFailedCallsBeforeIt) {
  ScriptedUpstream upstream({cut_short(), completion("hi")});
  Received received;
  ChatFixture dependencies(models({priced_row("a/m", upstream)}));
  const auto end = dependencies.answer(request("a/m"), received);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(5, end->reply.usage->total);
  EXPECT_EQ(5 + estimated_prompt(request("a/m")), end->charged.tokens);
}

TEST(ChatCost, ABrokenStreamHasTheTokensOfWhatWasReceived) {
  ScriptedUpstream upstream({event_stream(chunk(R"({"content":"some words of an answer"})"))});
  Received received;
  ChatFixture dependencies(models({priced_row("a/m", upstream)}));
  ASSERT_FALSE(dependencies.answer(streamed(request("a/m")), received));
  EXPECT_LT(estimated_prompt(request("a/m")), received.failed_tokens);
}

TEST(ChatCost, AFailedAnswerIsChargedWithTheUsageThatItReports) {
  const std::string failed = R"({"index":0,"message":{"content":")";
  const std::string usage =
      R"("},"finish_reason":"error"}],"usage":{"prompt_tokens":70,"completion_tokens":30}})";
  const std::string malformed = R"({"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL"}],)"
                                R"("usageMetadata":{"promptTokenCount":70,"candidatesTokenCount":30}})";
  const std::string refused =
      R"({"error":{"type":"odd","message":"m"},"usage":{"input_tokens":70,"output_tokens":30}})";
  for (const auto& [provider, body] :
       {std::pair("openai", R"({"choices":[)" + failed + "part" + usage),
        std::pair("openai", R"({"choices":[)" + failed + std::string(40'000, 'x') + usage),
        std::pair("gemini", malformed), std::pair("anthropic", refused)}) {
    ScriptedUpstream upstream({http(200, body)});
    Received received;
    ChatFixture dependencies(models({priced_row("a/m", upstream, provider)}));
    ASSERT_FALSE(dependencies.answer(request("a/m"), received));
    EXPECT_EQ(3 * 100, received.failed_tokens) << body.substr(0, 200);
    EXPECT_EQ(3 * (70 * 1'000 + 30 * 2'000), received.failed_charged) << body.substr(0, 200);
  }
}

TEST(ChatCost, AFailedAnswerWithoutUsageIsChargedWithItsContent) {
  const std::int64_t prompt = estimated_prompt(request("a/m"));
  ScriptedUpstream upstream({http(
      200,
      R"({"choices":[{"index":0,"message":{"content":"some words of an answer"},"finish_reason":"error"}]})")});
  Received received;
  ChatFixture dependencies(models({priced_row("a/m", upstream)}));
  ASSERT_FALSE(dependencies.answer(request("a/m"), received));
  EXPECT_EQ(3 * (prompt + schemas::estimated_tokens("some words of an answer")), received.failed_tokens);
}

TEST(ChatCost, AFailedStreamIsChargedWithTheUsageThatItReports) {
  const std::string used = R"("usage":{"prompt_tokens":70,"completion_tokens":30})";
  const std::string text = chunk(R"({"content":"some words"})");
  for (const std::string& rest :
       {R"(data: {"choices":[],)" + used + "}\n\n",
        R"(data: {"choices":[{"index":0,"delta":{},"finish_reason":"error"}],)" + used + "}\n\n",
        R"(data: {"error":{"message":"m"},)" + used + "}\n\n"}) {
    ScriptedUpstream upstream({event_stream(text + rest)});
    Received received;
    ChatFixture dependencies(models({priced_row("a/m", upstream)}));
    ASSERT_FALSE(dependencies.answer(streamed(request("a/m")), received));
    EXPECT_EQ(100, received.failed_tokens) << rest;
    EXPECT_EQ(received.costs.at(0).max, received.failed_charged) << "more may have been generated";
  }
}

TEST(ChatCost, AFailedStreamIsChargedWithWhatWasReceivedAfterItsReport) {
  const std::string used = R"(data: {"choices":[],"usage":{"prompt_tokens":70,"completion_tokens":1}})";
  ScriptedUpstream upstream(
      {event_stream(used + "\n\n" + chunk(R"({"content":"some words of an answer"})"))});
  Received received;
  ChatFixture dependencies(models({priced_row("a/m", upstream)}));
  ASSERT_FALSE(dependencies.answer(streamed(request("a/m")), received));
  EXPECT_EQ(70 + schemas::estimated_tokens("some words of an answer"), received.failed_tokens);
}

TEST(ChatCost, ACallThatTheSinkRefusesCostsNothing) {
  ScriptedUpstream upstream({failure(), completion("hi")});
  Received received;
  received.sendings_max = 1;
  ChatFixture dependencies(models({priced_row("a/m", upstream)}));
  ASSERT_FALSE(dependencies.answer(request("a/m"), received));
  EXPECT_EQ(2, received.sendings);
  EXPECT_EQ(0, received.failed_charged);
}

// Cancels the run instead of an answer to the first question.
struct Cancelling final : ChatSink {
  void on_head(const ChatHead&) override {}
  void on_piece(schemas::ChatPiece&&) override {}
  void before_sending(const CallCost& cost, std::function<void(bool)> go) override {
    if (permits) go(true);
    run->cancel();
    charged = run->charged().cost;
    max = *cost.max;
    if (!permits) go(false);
    done.take()(true);
  }
  void on_end(base::Result<ChatResult>) override {}
  bool permits = false;
  std::shared_ptr<ChatRun> run;
  NanoUsd charged = -1, max = 0;
  support::Answer<bool> done;
};

TEST(ChatCost, ACallCountsFromItsPermissionOn) {
  for (const bool permits : {false, true}) {
    ScriptedUpstream upstream({""});
    Cancelling sink;
    sink.permits = permits;
    ChatFixture dependencies(models({priced_row("a/m", upstream)}));
    dependencies.on_loop([&] { sink.run = dependencies.chat.start(request("a/m"), sink); });
    ASSERT_TRUE(sink.done.wait());
    EXPECT_EQ(permits ? sink.max : 0, sink.charged);
    EXPECT_LT(0, sink.max);
  }
}

// Answers when the test lets it.
struct Waiting final : ChatSink {
  void on_head(const ChatHead&) override {}
  void on_piece(schemas::ChatPiece&&) override {}
  void before_sending(const CallCost& cost, std::function<void(bool)> go) override {
    costs.push_back(cost);
    goes.push_back(std::move(go));
  }
  void on_end(base::Result<ChatResult>) override {}
  std::vector<CallCost> costs;
  std::vector<std::function<void(bool)>> goes;
};

TEST(ChatCost, CallsThatAskAtOnceAreAllCoveredAndNoneIsCharged) {
  ScriptedUpstream upstream({completion("one of them")});
  Waiting sink;
  auto chat_request = request("a/m");
  chat_request.n = 3;
  ChatFixture dependencies(models({priced_row("a/m", upstream, "groq")}));
  const auto run = dependencies.start(chat_request, sink);
  const auto all_ask = [&] {
    std::size_t count = 0;
    dependencies.on_loop([&] { count = sink.goes.size(); });
    return count == 3;
  };
  ASSERT_TRUE(support::wait_until(all_ask));
  dependencies.on_loop([&] {
    EXPECT_EQ(3 * *sink.costs[0].max, sink.costs[2].run_max);
    EXPECT_EQ(0, run->charged().cost);
    sink.goes[1](false);
    EXPECT_EQ(0, run->charged().cost);
    run->cancel();
    sink.goes[0](true);
    sink.goes[2](true);
    EXPECT_EQ(0, run->charged().cost);
  });
  EXPECT_TRUE(dependencies.chat.stop());
  EXPECT_TRUE(upstream.bodies().empty());
}

TEST(ChatCost, ATargetWhoseBreakerIsOpenIsNotCalled) {
  ScriptedUpstream upstream({failure()});
  ChatFixture dependencies(models({priced_row("a/m", upstream)}));
  for (int i = 0; i < 20; ++i) {
    Received received;
    ASSERT_FALSE(dependencies.answer(request("a/m"), received));
    if (received.failed) continue;
    EXPECT_EQ(0, received.sendings);
    return;
  }
  ADD_FAILURE() << "the breaker did not open";
}

TEST(ChatCost, ConcurrentCallsForSeveralChoicesAddUp) {
  ScriptedUpstream upstream({completion("one of them")});
  Received received;
  auto chat_request = request("a/m");
  chat_request.n = 3;
  chat_request.body["n"] = 3;
  ChatFixture dependencies(models({priced_row("a/m", upstream, "groq")}));
  const auto end = dependencies.answer(chat_request, received);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(3 * kUsageCost, end->charged.cost);
  ASSERT_EQ(3u, received.costs.size());
  EXPECT_EQ(3 * *received.costs[0].max, received.costs[2].run_max);
}

}  // namespace
}  // namespace millrace::inference
