#include <gtest/gtest.h>

#include "ai/inference/chat/chat.h"
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
using testing::Received;
using testing::request;
using testing::ScriptedUpstream;
using testing::streamed;

constexpr NanoUsd kUsageCost = 3 * 1'000 + 2 * 2'000;  // of `completion`

ModelRow priced_row(const std::string& name, const ScriptedUpstream& upstream,
                    const std::string& provider = "openai") {
  ModelRow row = testing::upstream_row(name, upstream, provider);
  row.price = Price{.prompt = 1, .completion = 2};
  return row;
}

std::string cut_short() { return "HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n{"; }

TEST(ChatCost, AnAnswerIsChargedWithWhatItsUsageCosts) {
  ScriptedUpstream upstream({completion("hi")});
  Received heard;
  ChatFixture dependencies(models({priced_row("a/m", upstream)}));
  const auto end = dependencies.answer(request("a/m"), heard);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(kUsageCost, end->charged);
  ASSERT_EQ(1u, heard.costs.size());
  EXPECT_EQ("a/m", heard.costs[0].model);
  EXPECT_EQ(heard.costs[0].max, max_cost(priced_row("a/m", upstream), request("a/m")));
  EXPECT_EQ(heard.costs[0].max, heard.costs[0].run_max);
}

TEST(ChatCost, ACallThatFailedWithAnHttpStatusCostsNothing) {
  ScriptedUpstream upstream({failure(), completion("hi")});
  Received heard;
  ChatFixture dependencies(models({priced_row("a/m", upstream)}));
  const auto end = dependencies.answer(request("a/m"), heard);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(kUsageCost, end->charged);
  ASSERT_EQ(2u, heard.costs.size());
  EXPECT_EQ(heard.costs[0].run_max, heard.costs[1].run_max);
}

TEST(ChatCost, ACallThatReachesNoServerCostsNothing) {
  Received heard;
  ModelRow row = testing::row("a/m", "openai");
  row.target.base_url = "http://127.0.0.1:1/v1";
  row.price = Price{.prompt = 1};
  ChatFixture dependencies(models({row}));
  ASSERT_FALSE(dependencies.answer(request("a/m"), heard));
  EXPECT_EQ(0, heard.failed_charged);
}

TEST(ChatCost, ACallWhoseConnectionIsLostIsChargedInFullAndSoIsEachRetry) {
  ScriptedUpstream upstream({cut_short()});
  Received heard;
  ChatFixture dependencies(models({priced_row("a/m", upstream)}));
  ASSERT_FALSE(dependencies.answer(request("a/m"), heard));
  ASSERT_EQ(3u, heard.costs.size());
  const NanoUsd each = heard.costs[0].max.value();
  EXPECT_EQ(2 * each, heard.costs[1].run_max);
  EXPECT_EQ(3 * each, heard.costs[2].run_max);
  EXPECT_EQ(3 * each, heard.failed_charged);
}

TEST(ChatCost, ACallThatTimesOutIsChargedInFull) {
  ScriptedUpstream upstream({""});
  ModelRow row = priced_row("a/m", upstream);
  row.target.timeouts.first_byte = std::chrono::milliseconds(20);
  Received heard;
  ChatOptions options = ChatFixture::quick();
  options.tries_max = 1;
  ChatFixture dependencies(models({row}), options);
  ASSERT_FALSE(dependencies.answer(request("a/m"), heard));
  EXPECT_EQ(heard.costs.at(0).max, heard.failed_charged);
}

TEST(ChatCost, AStreamThatBreaksIsChargedInFull) {
  ScriptedUpstream upstream({event_stream(chunk(R"({"content":"half"})"))});
  Received heard;
  ChatFixture dependencies(models({priced_row("a/m", upstream)}));
  ASSERT_FALSE(dependencies.answer(streamed(request("a/m")), heard));
  EXPECT_EQ(heard.costs.at(0).max, heard.failed_charged);
}

TEST(ChatCost, AnAnswerWithoutUsageIsChargedInFull) {
  ScriptedUpstream upstream(
      {event_stream(chunk(R"({"content":"whole"})") + chunk("{}", R"("stop")") + "data: [DONE]\n\n")});
  Received heard;
  ChatFixture dependencies(models({priced_row("a/m", upstream)}));
  const auto end = dependencies.answer(streamed(request("a/m")), heard);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(heard.costs.at(0).max, end->charged);
  EXPECT_LT(*end->cost_usd, schemas::usd(end->charged));
}

TEST(ChatCost, ACancelledRunStillSaysThatItsCallIsChargedInFull) {
  ScriptedUpstream upstream({""});
  Received heard;
  ChatFixture dependencies(models({priced_row("a/m", upstream)}));
  const auto run = dependencies.start(request("a/m"), heard);
  ASSERT_TRUE(upstream.wait_for_requests(1));
  NanoUsd at_once = 0, later = 0;
  dependencies.on_loop([&] {
    run->cancel();
    at_once = run->charged();
  });
  ASSERT_TRUE(upstream.wait_for_caller_gone());
  dependencies.on_loop([&] { later = run->charged(); });
  EXPECT_EQ(heard.costs.at(0).max, at_once);
  EXPECT_EQ(at_once, later);
}

TEST(ChatCost, ACallThatTheSinkRefusesCostsNothing) {
  ScriptedUpstream upstream({failure(), completion("hi")});
  Received heard;
  heard.sendings_max = 1;
  ChatFixture dependencies(models({priced_row("a/m", upstream)}));
  ASSERT_FALSE(dependencies.answer(request("a/m"), heard));
  EXPECT_EQ(2, heard.sendings);
  EXPECT_EQ(0, heard.failed_charged);
}

// Cancels the run instead of an answer to the first question.
struct Cancelling final : ChatSink {
  void on_head(const ChatHead&) override {}
  void on_piece(schemas::ChatPiece&&) override {}
  void before_sending(const CallCost& cost, std::function<void(bool)> go) override {
    if (permits) go(true);
    run->cancel();
    charged = run->charged();
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

// Answers when it is told to.
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
  auto asked = request("a/m");
  asked.n = 3;
  ChatFixture dependencies(models({priced_row("a/m", upstream, "groq")}));
  const auto run = dependencies.start(asked, sink);
  const auto all_ask = [&] {
    std::size_t count = 0;
    dependencies.on_loop([&] { count = sink.goes.size(); });
    return count == 3;
  };
  ASSERT_TRUE(support::wait_until(all_ask));
  dependencies.on_loop([&] {
    EXPECT_EQ(3 * *sink.costs[0].max, sink.costs[2].run_max);
    EXPECT_EQ(0, run->charged());
    sink.goes[1](false);
    EXPECT_EQ(0, run->charged());
    run->cancel();
    sink.goes[0](true);
    sink.goes[2](true);
    EXPECT_EQ(0, run->charged());
  });
  EXPECT_TRUE(dependencies.chat.stop());
  EXPECT_TRUE(upstream.bodies().empty());
}

TEST(ChatCost, ATargetWhoseBreakerIsOpenIsNotAskedFor) {
  ScriptedUpstream upstream({failure()});
  ChatFixture dependencies(models({priced_row("a/m", upstream)}));
  for (int i = 0; i < 20; ++i) {
    Received heard;
    ASSERT_FALSE(dependencies.answer(request("a/m"), heard));
    if (heard.failed) continue;
    EXPECT_EQ(0, heard.sendings);
    return;
  }
  ADD_FAILURE() << "the breaker did not open";
}

TEST(ChatCost, ParametersWithoutABoundAreDroppedUnderABudget) {
  for (const char* provider : {"openai", "xai", "openrouter", "anthropic", "gemini"}) {
    ScriptedUpstream upstream({http(400, "{}")});
    ModelRow free = priced_row("b/m", upstream, provider);
    free.price = Price{};
    ChatFixture dependencies(models({priced_row("a/m", upstream, provider), free}));
    auto asked = request("a/m");
    asked.cap_output = true;
    asked.body.update({{"web_search_options", schemas::Json::object()},
                       {"search_parameters", {{"mode", "on"}}},
                       {"service_tier", "priority"},
                       {"prediction", {{"type", "content"}, {"content", "p"}}}});
    asked.body["plugins"] = {{{"id", "web"}}};
    asked.body["n_predict"] = 100'000;
    Received heard;
    ASSERT_FALSE(dependencies.answer(asked, heard));
    const std::string body = upstream.bodies().back();
    for (const char* word : {"search", "priority", "prediction", "plugins", "n_predict"})
      EXPECT_EQ(std::string::npos, body.find(word)) << provider << word;
    ASSERT_TRUE(heard.failed);
    const std::string dropped = schemas::dropped_text(heard.failed->dropped);
    for (const char* name : {"web_search_options", "search_parameters", "service_tier", "prediction"})
      EXPECT_NE(std::string::npos, dropped.find(name)) << provider << name;

    asked.strict = true;
    Received refused;
    const auto end = dependencies.answer(asked, refused);
    ASSERT_FALSE(end);
    EXPECT_EQ(0, refused.sendings) << provider;
    if (std::string_view(provider) != "openrouter") continue;
    asked.strict = false;
    asked.models = {"b/m"};
    Received unbounded;
    ASSERT_FALSE(dependencies.answer(asked, unbounded));
    EXPECT_NE(std::string::npos, upstream.bodies().back().find("n_predict"));
  }
}

TEST(ChatCost, AServiceTierThatIsNotDearerStays) {
  ScriptedUpstream upstream({http(400, "{}")});
  ChatFixture dependencies(models({priced_row("a/m", upstream)}));
  for (const char* tier : {"auto", "default", "flex"}) {
    auto asked = request("a/m");
    asked.cap_output = true;
    asked.body["service_tier"] = tier;
    Received heard;
    ASSERT_FALSE(dependencies.answer(asked, heard));
    EXPECT_EQ(tier, schemas::Json::parse(upstream.bodies().back())["service_tier"]);
  }
}

TEST(ChatCost, ConcurrentCallsForSeveralChoicesAddUp) {
  ScriptedUpstream upstream({completion("one of them")});
  Received heard;
  auto asked = request("a/m");
  asked.n = 3;
  asked.body["n"] = 3;
  ChatFixture dependencies(models({priced_row("a/m", upstream, "groq")}));
  const auto end = dependencies.answer(asked, heard);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(3 * kUsageCost, end->charged);
  ASSERT_EQ(3u, heard.costs.size());
  EXPECT_EQ(3 * *heard.costs[0].max, heard.costs[2].run_max);
}

TEST(ChatCost, TheBoundIsThatOfTheDearestModelAndFallback) {
  ScriptedUpstream upstream({completion("hi")});
  auto cheap = priced_row("a/m", upstream), dear = priced_row("b/m", upstream),
       unpriced = priced_row("c/m", upstream);
  cheap.fallbacks = {"b/m"};
  dear.price->completion = 70;
  unpriced.price.reset();
  ChatFixture dependencies(models({cheap, dear, unpriced}));
  const CostBound bound = dependencies.chat.max_cost(request("a/m"));
  EXPECT_EQ(bound.max, max_cost(dear, request("a/m")));
  EXPECT_EQ("", bound.unpriced);
  auto asked = request("a/m");
  asked.models = {"a/m", "c/m"};
  EXPECT_EQ("c/m", dependencies.chat.max_cost(asked).unpriced);
}

struct SentCap {
  const char* provider;
  const char* pointer;  // to the family's own member
};

TEST(ChatCost, TheCapIsSentInTheMemberOfEachFamily) {
  for (const auto& [provider, pointer] :
       {SentCap{"openai", "/max_completion_tokens"}, SentCap{"xai", "/max_completion_tokens"},
        SentCap{"groq", "/max_completion_tokens"}, SentCap{"mistral", "/max_tokens"},
        SentCap{"ollama", "/max_tokens"}, SentCap{"anthropic", "/max_tokens"},
        SentCap{"gemini", "/generationConfig/maxOutputTokens"}}) {
    ScriptedUpstream upstream({http(400, "{}")});
    ModelRow known = priced_row("b/m", upstream, provider);
    known.target.output_max = 300;
    ChatFixture dependencies(models({priced_row("a/m", upstream, provider), known}));
    const auto sent = [&](std::int64_t requested, const char* model, bool quick) {
      std::string text = R"({"model":"a/m","messages":[{"role":"user","content":"hello"}]})";
      auto asked = quick ? schemas::read_chat_request(text).value() : request(model);
      asked.cap_output = true;
      if (requested > 0) asked.body["max_completion_tokens"] = requested;
      Received heard;
      EXPECT_FALSE(dependencies.answer(asked, heard));
      return schemas::Json::parse(upstream.bodies().back())[schemas::Json::json_pointer(pointer)];
    };
    EXPECT_EQ(kOutputMax, sent(0, "a/m", false)) << provider;
    EXPECT_EQ(70, sent(70, "a/m", false)) << provider;
    EXPECT_EQ(300, sent(0, "b/m", false)) << provider;
    EXPECT_EQ(300, sent(900, "b/m", false)) << provider;
    EXPECT_EQ(kOutputMax, sent(0, "a/m", true)) << provider;
  }
}

TEST(ChatCost, EachTargetGetsItsOwnCap) {
  ScriptedUpstream broken({failure()}), good({completion("hi")});
  ModelRow first = priced_row("a/m", broken), second = priced_row("b/m", good, "mistral");
  first.target.output_max = 300;
  first.fallbacks = {"b/m"};
  second.target.output_max = 700;
  ChatFixture dependencies(models({first, second}));
  for (const std::int64_t requested : {0, 500}) {
    auto asked = request("a/m");
    asked.cap_output = true;
    if (requested > 0) asked.body["max_completion_tokens"] = requested;
    Received heard;
    ASSERT_TRUE(dependencies.answer(asked, heard));
    EXPECT_EQ(300, schemas::Json::parse(broken.bodies().back())["max_completion_tokens"]);
    EXPECT_EQ(requested > 0 ? 500 : 700, schemas::Json::parse(good.bodies().back())["max_tokens"]);
    for (const CallCost& cost : heard.costs)
      EXPECT_EQ(cost.max, max_cost(cost.model == "a/m" ? first : second, asked));
    if (requested > 0) {
      EXPECT_EQ("", schemas::dropped_text(heard.heads.at(0).dropped));
    }
  }
}

TEST(ChatCost, ACapBelowTheRequestIsReportedAsClamped) {
  ScriptedUpstream upstream({completion("hi")});
  ModelRow row = priced_row("a/m", upstream);
  row.target.output_max = 300;
  ChatFixture dependencies(models({row}));
  auto asked = request("a/m");
  asked.body["max_completion_tokens"] = 500;
  asked.cap_output = true;
  Received heard;
  ASSERT_TRUE(dependencies.answer(asked, heard));
  EXPECT_EQ("max_completion_tokens;clamped", schemas::dropped_text(heard.heads.at(0).dropped));
}

TEST(ChatCost, WithoutABudgetTheRequestIsNotChanged) {
  ScriptedUpstream upstream({completion("hi")});
  ChatFixture dependencies(models({priced_row("a/m", upstream)}));
  Received heard;
  ASSERT_TRUE(dependencies.answer(request("a/m"), heard));
  EXPECT_EQ(std::string::npos, upstream.bodies().back().find("max_"));
}

}  // namespace
}  // namespace millrace::inference
