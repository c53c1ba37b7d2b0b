#include <memory>
#include <semaphore>

#include <gtest/gtest.h>

#include "ai/inference/chat/chat.h"
#include "ai/inference/routing/breaker.h"
#include "tests/unit/inference/chat_fixture.h"
#include "tests/unit/inference/scripted_upstream.h"

// Retries, fallbacks and the breaker, against upstreams over real sockets.
namespace millrace::inference {
namespace {

using base::Code;
using testing::ChatFixture;
using testing::chunk;
using testing::completion;
using testing::event_stream;
using testing::failure;
using testing::http;
using testing::models;
using testing::Received;
using testing::request;
using testing::ScriptedUpstream;
using testing::upstream_row;

std::string too_many(const std::string& header) {
  return http(429, R"({"error":{"message":"slow down"}})", header + "\r\n");
}

TEST(FallbackExecutor, AFailureIsTriedAgainAndTheAttemptsAreCounted) {
  ScriptedUpstream upstream({failure(), too_many("Retry-After-Ms: 5"), completion("hi")});
  Received received;
  ChatFixture dependencies(models({upstream_row("a/m", upstream)}));
  const auto end = dependencies.answer(request("a/m"), received);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ("hi", end->reply.choices.at(0).content);
  EXPECT_EQ(3, received.heads.at(0).attempts);
  EXPECT_EQ(3, received.sendings);
  EXPECT_EQ(5, end->reply.usage->total);
}

// Occupies the pool's only thread for large work until release().
class BlockedPool {
 public:
  explicit BlockedPool(base::Pool& pool) {
    EXPECT_TRUE(pool.post(base::Pool::Queue::kLarge, [released = released_] { released->acquire(); }));
  }
  void release() { released_->release(); }

 private:
  std::shared_ptr<std::binary_semaphore> released_ = std::make_shared<std::binary_semaphore>(0);
};

TEST(FallbackExecutor, ARequestOfManyNumbersIsPreparedOnThePool) {
  schemas::Json numbers = schemas::Json::array();
  for (int i = 0; i < 5'000; ++i) numbers.push_back(i);
  schemas::ChatRequest with_member = request("a/m"), with_schema = request("a/m");
  with_member.body["numbers"] = numbers;
  with_schema.body["tools"] = {
      {{"type", "function"},
       {"function", {{"name", "f"}, {"parameters", {{"properties", {{"n", {{"enum", numbers}}}}}}}}}}};
  for (const schemas::ChatRequest& each : {with_member, with_schema}) {
    ScriptedUpstream upstream({completion("hi")});
    Received received;
    ChatFixture dependencies(models({upstream_row("a/m", upstream)}));
    BlockedPool blocked(dependencies.pool);
    dependencies.start(each, received);
    dependencies.on_loop([] {});
    EXPECT_EQ(0, received.sendings);
    blocked.release();
    EXPECT_TRUE(received.ended());
    EXPECT_EQ(1, received.sendings);
  }
}

TEST(FallbackExecutor, WhoMayNotSendAnyMoreIsNotTriedAgain) {
  ScriptedUpstream upstream({failure(), completion("hi")});
  Received received;
  received.sendings_max = 1;
  ChatFixture dependencies(models({upstream_row("a/m", upstream)}));
  const auto end = dependencies.answer(request("a/m"), received);
  ASSERT_FALSE(end);
  EXPECT_EQ(Code::kJobCancelled, end.error().code);
  EXPECT_EQ(1u, upstream.bodies().size());
}

TEST(FallbackExecutor, AnUpstreamThatStaysBrokenIsLeftForTheFallbacksOfTheClientAndOfTheRow) {
  ScriptedUpstream broken({failure()}), good({completion("from the fallback")});
  auto rows = {upstream_row("a/m", broken), upstream_row("b/m", good)};
  ModelSettings settings = models(rows);
  settings.models[0].fallbacks = {"b/m"};
  Received received;
  ChatFixture dependencies(settings);
  const auto end = dependencies.answer(request("a/m"), received);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ("from the fallback", end->reply.choices.at(0).content);
  EXPECT_EQ("b/m", received.heads.at(0).model);
  EXPECT_EQ(4, received.heads.at(0).attempts);
}

TEST(FallbackExecutor, ALongRetryAfterIsNotWaitedFor) {
  ScriptedUpstream upstream({too_many("Retry-After: 3000")});
  Received received;
  ChatFixture dependencies(models({upstream_row("a/m", upstream)}));
  const auto end = dependencies.answer(request("a/m"), received);
  ASSERT_FALSE(end);
  EXPECT_EQ(Code::kRateLimited, end.error().code);
  EXPECT_EQ(std::chrono::seconds(3000), end.error().retry_after);
  EXPECT_EQ(1u, upstream.bodies().size());
}

TEST(FallbackExecutor, ARequestThatIsWrongIsNotTriedAgain) {
  ScriptedUpstream upstream({http(400, R"({"error":{"message":"no such voice"}})")}),
      other({completion("x")});
  Received received;
  auto chat_request = request("a/m");
  chat_request.models = {"a/m", "b/m"};
  ChatFixture dependencies(models({upstream_row("a/m", upstream), upstream_row("b/m", other)}));
  const auto end = dependencies.answer(chat_request, received);
  ASSERT_FALSE(end);
  EXPECT_EQ(Code::kBadRequest, end.error().code);
  EXPECT_EQ(1u, upstream.bodies().size());
  EXPECT_TRUE(other.bodies().empty());
}

TEST(FallbackExecutor, AStreamThatBreaksAfterItsFirstPieceIsAnErrorAndNotTriedAgain) {
  ScriptedUpstream upstream({event_stream(chunk(R"({"content":"half"})"))});
  Received received;
  auto chat_request = request("a/m");
  chat_request.stream = true;
  ChatFixture dependencies(models({upstream_row("a/m", upstream)}));
  const auto end = dependencies.answer(chat_request, received);
  ASSERT_FALSE(end);
  EXPECT_EQ("half", received.text());
  EXPECT_EQ(1u, upstream.bodies().size());
  EXPECT_EQ(1u, received.heads.size());
}

TEST(FallbackExecutor, AStreamThatBreaksBeforeItsFirstContentIsTriedAgainAndThenElsewhere) {
  const std::string opening = chunk(R"({"role":"assistant","content":""})");
  const std::string error = "data: {\"error\":{\"message\":\"over\",\"code\":503}}\n\n";
  for (const std::string& events : {opening, opening + error}) {
    ScriptedUpstream broken({event_stream(events)});
    ScriptedUpstream good(
        {event_stream(opening + chunk(R"({"content":"whole"})") + chunk("{}", R"("stop")"))});
    Received received;
    auto chat_request = request("a/m");
    chat_request.stream = true;
    chat_request.models = {"a/m", "b/m"};
    ChatFixture dependencies(models({upstream_row("a/m", broken), upstream_row("b/m", good)}));
    const auto end = dependencies.answer(chat_request, received);
    ASSERT_TRUE(end) << end.error().message;
    EXPECT_EQ("whole", received.text());
    EXPECT_EQ(3u, received.pieces.size()) << "the pieces of one answer";
    EXPECT_EQ("b/m", received.heads.at(0).model);
    EXPECT_EQ(4, received.heads.at(0).attempts);
  }
}

// By then the provider has processed the prompt.
TEST(FallbackExecutor, AStreamThatBreaksAfterAnEmptyPieceIsChargedForItsPrompt) {
  ScriptedUpstream upstream({event_stream(chunk(R"({"role":"assistant","content":""})"))});
  Received received;
  auto chat_request = request("a/m", "four words of prompt");
  chat_request.stream = true;
  ModelRow row = upstream_row("a/m", upstream);
  row.price = Price{.prompt = 1e6, .completion = 0, .cached = {}};  // one dollar per token
  ChatFixture dependencies(models({std::move(row)}));
  ASSERT_FALSE(dependencies.answer(chat_request, received));
  EXPECT_EQ("", received.text());
  ASSERT_TRUE(received.failed_cost.has_value());
  EXPECT_GE(*received.failed_cost, 4.0);
}

// Arguments with fitted names are held. Those of a stream without a finish_reason are sent after the call.
TEST(FallbackExecutor, AnExceptionAfterTheEndOfACallFailsThisAnswerAlone) {
  const auto event = [](const std::string& data) { return "data: " + data + "\n\n"; };
  ScriptedUpstream upstream({event_stream(
      event(R"({"type":"message_start","message":{"id":"m","usage":{"input_tokens":10}}})") +
      event(R"({"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t",)"
            R"("name":"f","input":{}}})") +
      event(R"({"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta",)"
            R"("partial_json":"{\"a\":1}"}})") +
      event(R"({"type":"message_stop"})"))});
  Received received;
  received.throws_at = [](const schemas::ChatPiece& piece) {
    return !piece.tool_calls.empty() && !piece.tool_calls[0].arguments.empty();
  };
  ChatFixture dependencies(models({upstream_row("a/m", upstream, "anthropic")}));
  auto chat_request = testing::streamed(request("a/m"));
  chat_request.body["tools"] = {testing::tool("f")};
  chat_request.body["tools"][0]["function"]["parameters"]["properties"] = {{"a[b]", {{"type", "integer"}}}};
  const auto end = dependencies.answer(chat_request, received);
  ASSERT_FALSE(end);
  EXPECT_EQ(Code::kUpstream, end.error().code);
  EXPECT_EQ(1u, upstream.bodies().size()) << "the answer had begun";
  EXPECT_GT(received.failed_tokens, 10) << "the prompt as reported, and what was received";
}

TEST(FallbackExecutor, AResultThatCannotBePassedOnIsAnError) {
  ScriptedUpstream upstream({completion("hello")});
  Received received;
  received.throws_at_result = true;
  ChatFixture dependencies(models({upstream_row("a/m", upstream)}));
  const auto end = dependencies.answer(request("a/m"), received);
  ASSERT_FALSE(end);
  EXPECT_EQ(Code::kUpstream, end.error().code);
}

TEST(FallbackExecutor, AStreamIsTriedAgainBeforeItsFirstPiece) {
  ScriptedUpstream upstream({failure(), event_stream(chunk(R"({"content":"whole"})") +
                                                     chunk("{}", R"("stop")") + "data: [DONE]\n\n")});
  Received received;
  auto chat_request = request("a/m");
  chat_request.stream = true;
  ChatFixture dependencies(models({upstream_row("a/m", upstream)}));
  const auto end = dependencies.answer(chat_request, received);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ("whole", received.text());
  EXPECT_EQ(2, received.heads.at(0).attempts);
  ASSERT_TRUE(end->reply.usage);
  EXPECT_TRUE(end->reply.usage->estimated);
}

TEST(FallbackExecutor, SeveralChoicesAreSeveralCallsWhereTheProviderMakesOne) {
  ScriptedUpstream upstream({completion("one of them")});
  Received received;
  auto chat_request = request("a/m");
  chat_request.n = 3;
  chat_request.body["n"] = 3;
  ChatFixture dependencies(models({upstream_row("a/m", upstream, "groq")}));
  const auto end = dependencies.answer(chat_request, received);
  ASSERT_TRUE(end) << end.error().message;
  ASSERT_EQ(3u, end->reply.choices.size());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(i, end->reply.choices[static_cast<std::size_t>(i)].index);
  EXPECT_EQ(15, end->reply.usage->total);
  EXPECT_EQ("n;emulated", schemas::dropped_text(received.heads.at(0).dropped));
  EXPECT_EQ(3, received.sendings);
}

TEST(FallbackExecutor, ATargetThatFailsInARowIsLeftAloneAndReported) {
  ScriptedUpstream upstream({failure()});
  ChatFixture dependencies(models({upstream_row("a/m", upstream)}));
  for (int i = 0; i < 2; ++i) {
    Received received;
    EXPECT_FALSE(dependencies.answer(request("a/m"), received));
  }
  Received last;
  const auto end = dependencies.answer(request("a/m"), last);
  ASSERT_FALSE(end);
  EXPECT_EQ(Code::kOverloaded, end.error().code);
  EXPECT_GT(end.error().retry_after.count(), 0);
  EXPECT_EQ(static_cast<std::size_t>(Breaker::kFailures), upstream.bodies().size());
  EXPECT_EQ(BreakerState::kOpen, dependencies.chat.health().at(0).breaker);
  EXPECT_NE(std::string::npos,
            dependencies.metrics.scrape().find("millrace_upstream_breaker_state{model=\"a/m\"} 2"));
}

TEST(FallbackExecutor, ABreakerThatOpensMeanwhileDoesNotHideTheUpstreamsError) {
  ScriptedUpstream upstream({failure()});
  ChatFixture dependencies(models({upstream_row("a/m", upstream)}));
  Received first, second;
  EXPECT_FALSE(dependencies.answer(request("a/m"), first));
  const auto end = dependencies.answer(request("a/m"), second);
  ASSERT_FALSE(end);
  EXPECT_EQ(2, second.failed->attempts);
  EXPECT_EQ(Code::kUpstream, end.error().code);
  EXPECT_TRUE(end.error().message.starts_with("a/m answered 500: ")) << end.error().message;
}

TEST(FallbackExecutor, AJobGetsTheOpenBreakerAndWaitsAtNoCostUntilItCloses) {
  ScriptedUpstream upstream({failure()});
  ChatFixture dependencies(models({upstream_row("a/m", upstream)}));
  auto chat_request = request("a/m");
  chat_request.deferred = true;
  Received first, second;
  EXPECT_FALSE(dependencies.answer(chat_request, first));
  const auto end = dependencies.answer(chat_request, second);
  ASSERT_FALSE(end);
  EXPECT_EQ(2, second.failed->attempts);
  EXPECT_EQ(Code::kOverloaded, end.error().code);
}

TEST(FallbackExecutor, WhatNoRetryHelpsIsRequestedOnceAndDoesNotOpenTheBreaker) {
  for (const int status : {403, 405, 415, 451, 501}) {
    ScriptedUpstream upstream({http(status, R"({"error":{"message":"not this"}})")});
    ChatFixture dependencies(models({upstream_row("a/m", upstream)}));
    for (int i = 0; i <= Breaker::kFailures; ++i) {
      Received received;
      const auto end = dependencies.answer(request("a/m"), received);
      ASSERT_FALSE(end);
      EXPECT_EQ(Code::kUpstream, end.error().code) << status;
      EXPECT_EQ(1, received.failed->attempts) << status;
    }
    EXPECT_EQ(BreakerState::kClosed, dependencies.chat.health().at(0).breaker) << status;
  }
}

const std::string kDeep = std::string(300, '[') + std::string(300, ']');

std::string stopped(const std::string& reason, const std::string& odd = "1") {
  return R"({"choices":[{"index":0,"message":{"content":"x","odd":)" + odd + R"(},"finish_reason":")" +
         reason + "\"}]}";
}

// Else one client could switch off the model for all.
TEST(FallbackExecutor, AnswersWithUnusableContentDoNotOpenTheBreaker) {
  const std::string malformed = R"({"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL"}]})";
  for (const auto& [provider, body] :
       {std::pair("openai", std::string(R"({"choices":[]})")), std::pair("gemini", malformed),
        std::pair("gemini", std::string("{}")), std::pair("openai", stopped("error")),
        std::pair("openai", stopped("abort")), std::pair("openai", stopped("cancelled")),
        std::pair("openai", stopped("stop", "1e999")), std::pair("openai", stopped("stop", kDeep)),
        std::pair("anthropic",
                  R"({"type":"message","content":[{"type":"tool_use","id":"t","name":"f","input":)" +
                      std::string(R"({"x":1e999}}],"stop_reason":"tool_use"})")),
        std::pair("gemini", R"({"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":)" +
                                kDeep + R"(}}]},"finishReason":"STOP"}]})")}) {
    ScriptedUpstream upstream({http(200, body)});
    ModelRow broken = upstream_row("a/m", upstream);
    broken.target.preset = providers::preset_named(provider);
    ChatFixture dependencies(models({broken}));
    for (int i = 0; i <= Breaker::kFailures; ++i) {
      Received received;
      const auto end = dependencies.answer(request("a/m"), received);
      ASSERT_FALSE(end);
      EXPECT_EQ(Code::kUpstream, end.error().code) << body;
    }
    EXPECT_EQ(BreakerState::kClosed, dependencies.chat.health().at(0).breaker) << body;
  }
}

TEST(FallbackExecutor, AnswersWithUnusableContentDoNotHideFailures) {
  const std::string empty = http(200, R"({"choices":[]})");
  ScriptedUpstream upstream({failure(), failure(), empty, failure(), failure(), empty, failure()});
  ChatFixture dependencies(models({upstream_row("a/m", upstream)}));
  for (int i = 0; i < 3; ++i) {
    Received received;
    ASSERT_FALSE(dependencies.answer(request("a/m"), received));
  }
  EXPECT_EQ(BreakerState::kOpen, dependencies.chat.health().at(0).breaker);
  EXPECT_EQ(7u, upstream.bodies().size());
}

TEST(FallbackExecutor, StreamsCountForTheBreakerUnlessTheirContentIsUnusable) {
  const std::string deep = "data: {\"choices\":[{\"index\":0,\"delta\":{\"odd\":" + kDeep + "}}]}\n\n";
  for (const auto& [answer, state] :
       {std::pair(event_stream(chunk("{}", R"("error")")), BreakerState::kClosed),
        std::pair(event_stream(deep), BreakerState::kClosed),
        std::pair(event_stream("data: [DONE]\n\n"), BreakerState::kOpen),
        std::pair(event_stream(chunk("{}")), BreakerState::kOpen),
        std::pair(event_stream("data: {\"choices\":[\n\n"), BreakerState::kOpen)}) {
    ScriptedUpstream upstream({answer});
    ChatFixture dependencies(models({upstream_row("a/m", upstream)}));
    for (int i = 0; i < Breaker::kFailures; ++i) {
      auto chat_request = request("a/m");
      chat_request.stream = true;
      Received received;
      ASSERT_FALSE(dependencies.answer(chat_request, received)) << answer;
    }
    EXPECT_EQ(state, dependencies.chat.health().at(0).breaker) << answer;
  }
}

TEST(FallbackExecutor, ABrokenTextIsAnAnswer) {
  for (const std::string text : {R"(a\ud83d)", "a\xf0"}) {
    ScriptedUpstream whole({completion(text)});
    ScriptedUpstream stream(
        {event_stream(chunk(R"({"content":")" + text + "\"}", "\"stop\"") + "data: [DONE]\n\n")});
    Received received, read;
    ChatFixture dependencies(models({upstream_row("a/m", whole), upstream_row("b/m", stream)}));
    const auto end = dependencies.answer(request("a/m"), received);
    ASSERT_TRUE(end) << end.error().message;
    EXPECT_EQ("a\xEF\xBF\xBD", end->reply.choices.at(0).content);
    EXPECT_TRUE(dependencies.answer(streamed(request("b/m")), read));
    EXPECT_EQ("a\xEF\xBF\xBD", read.text());
    EXPECT_EQ(1, read.heads.at(0).attempts);
  }
}

TEST(FallbackExecutor, AnAccountWithoutQuotaIsLeftForAFallbackAtOnce) {
  ScriptedUpstream empty({http(429, R"({"error":{"message":"pay","code":"insufficient_quota"}})")});
  ScriptedUpstream good({completion("from the fallback")});
  auto chat_request = request("a/m");
  chat_request.models = {"a/m", "b/m"};
  Received received;
  ChatFixture dependencies(models({upstream_row("a/m", empty), upstream_row("b/m", good)}));
  const auto end = dependencies.answer(chat_request, received);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(2, received.heads.at(0).attempts);
}

struct ChainRow {
  std::string first, second;
  Code code;
  const char* message;  // the start of the message
  bool lasts;
};

TEST(FallbackExecutor, ARefusalIsReturnedWhereNoTargetMaySucceedLater) {
  const std::string refusal = http(403, R"({"error":{"message":"not this"}})");
  const std::string shut = http(401, R"({"error":{"message":"no such key"}})");
  const std::string absent = http(404, R"({"error":{"message":"what model?"}})");
  const std::string poor = http(429, R"({"error":{"message":"pay","code":"insufficient_quota"}})");
  const ChainRow rows[] = {{failure(), refusal, Code::kUpstream, "a/m", false},
                           {shut, refusal, Code::kUpstream, "b/m answered 403", true},
                           {failure(), absent, Code::kUpstream, "a/m", false},
                           {absent, failure(), Code::kUpstream, "b/m", false},
                           {poor, refusal, Code::kQuota, "a/m", true},
                           {refusal, poor, Code::kQuota, "b/m", true}};
  for (const ChainRow& row : rows) {
    ScriptedUpstream one({row.first}), other({row.second});
    auto chat_request = request("a/m");
    chat_request.models = {"a/m", "b/m"};
    Received received;
    ChatFixture dependencies(models({upstream_row("a/m", one), upstream_row("b/m", other)}));
    const auto end = dependencies.answer(chat_request, received);
    ASSERT_FALSE(end);
    EXPECT_EQ(row.code, end.error().code) << row.message;
    EXPECT_TRUE(end.error().message.starts_with(row.message)) << end.error().message;
    EXPECT_EQ(row.lasts, end.error().is_permanent) << row.message;
  }
}

// An answer that calls `f`, with reasoning that goes back to its provider.
std::string answer_with_state(const std::string& state, bool stream) {
  const std::string message =
      R"({"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"call_0","type":"function",)"
      R"("function":{"name":"f","arguments":"{}"}}],)"
      R"("reasoning_details":[{"type":"reasoning.encrypted","data":")" +
      state + R"(","index":0}]})";
  if (stream) return event_stream(chunk(message) + chunk("{}", R"("tool_calls")") + "data: [DONE]\n\n");
  return http(200, R"({"choices":[{"index":0,"message":)" + message + R"(,"finish_reason":"tool_calls"}]})");
}

TEST(FallbackExecutor, AFallbackGetsItsOwnReasoningState) {
  for (const bool stream : {false, true}) {
    const std::string done =
        stream ? event_stream(chunk(R"({"content":"hi"})") + chunk("{}", R"("stop")") + "data: [DONE]\n\n")
               : completion("hi");
    ScriptedUpstream one({answer_with_state("of-one", stream), failure()});
    ScriptedUpstream other({answer_with_state("of-other", stream), done});
    ScriptedUpstream none({failure(), failure(), failure(), done});
    ChatFixture dependencies(models({upstream_row("a/m", one, "vllm"), upstream_row("b/m", other, "ollama"),
                                     upstream_row("c/m", none, "openrouter")}));
    auto chat_request = request("a/m");
    chat_request.stream = stream;
    for (const char* model : {"a/m", "b/m"}) {
      Received received;
      chat_request.models = {model};
      ASSERT_TRUE(dependencies.answer(chat_request, received));
    }
    chat_request.body["messages"].push_back(
        {{"role", "assistant"},
         {"content", nullptr},
         {"tool_calls",
          {{{"id", "call_0"}, {"type", "function"}, {"function", {{"name", "f"}, {"arguments", "{}"}}}}}}});
    chat_request.body["messages"].push_back({{"role", "tool"}, {"tool_call_id", "call_0"}, {"content", "r"}});
    chat_request.models = {"a/m", "c/m", "b/m"};
    Received received;
    const auto end = dependencies.answer(chat_request, received);
    ASSERT_TRUE(end) << end.error().message;
    EXPECT_NE(std::string::npos, one.bodies().back().find("of-one"));
    EXPECT_EQ(std::string::npos, none.bodies().back().find("of-o")) << none.bodies().back();
    EXPECT_NE(std::string::npos, other.bodies().back().find("of-other")) << other.bodies().back();
    EXPECT_EQ(std::string::npos, other.bodies().back().find("of-one"));
  }
}

TEST(FallbackExecutor, AReplyWithoutACreationTimeGetsTheGatewaysTime) {
  const std::string untimed = R"({"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]})";
  ScriptedUpstream upstream({http(200, untimed), completion("hi")});
  ChatFixture dependencies(models({upstream_row("a/m", upstream)}));
  Received first, second;
  const auto before = std::chrono::system_clock::now() - std::chrono::seconds(1);
  const auto end = dependencies.answer(request("a/m"), first);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_GE(end->reply.created, std::chrono::system_clock::to_time_t(before));
  EXPECT_EQ(1, dependencies.answer(request("a/m"), second)->reply.created)
      << "the upstream's creation time is used if it sends one";
}

TEST(FallbackExecutor, AClientThatLeavesLetsItsUpstreamGoAtOnce) {
  ScriptedUpstream upstream({""});
  Received received;
  ChatFixture dependencies(models({upstream_row("a/m", upstream)}));
  const auto run = dependencies.start(request("a/m"), received);
  ASSERT_TRUE(upstream.wait_for_requests(1));
  const auto left = std::chrono::steady_clock::now();
  dependencies.on_loop([&] { run->cancel(); });
  EXPECT_TRUE(upstream.wait_for_caller_gone());
  EXPECT_LT(std::chrono::steady_clock::now() - left, std::chrono::seconds(2));
  EXPECT_TRUE(support::wait_until([&] { return dependencies.chat.health().at(0).running == 0; }));
  EXPECT_FALSE(received.end);
}

}  // namespace
}  // namespace millrace::inference
