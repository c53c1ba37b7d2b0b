#include <string_view>

#include <gtest/gtest.h>

#include "ai/inference/chat/chat.h"
#include "tests/unit/inference/chat_fixture.h"
#include "tests/unit/inference/scripted_upstream.h"

// What a chat may cost at most, and what a request under a budget loses for it.
namespace millrace::inference {
namespace {

using testing::ChatFixture;
using testing::completion;
using testing::failure;
using testing::http;
using testing::models;
using testing::priced_row;
using testing::Received;
using testing::request;
using testing::ScriptedUpstream;

TEST(ChatCostBound, ParametersWithoutABoundAreDroppedUnderABudget) {
  for (const char* provider : {"openai", "xai", "openrouter", "anthropic", "gemini"}) {
    ScriptedUpstream upstream({http(400, "{}")});
    ModelRow free = priced_row("b/m", upstream, provider);
    free.price = Price{};
    ChatFixture dependencies(models({priced_row("a/m", upstream, provider), free}));
    auto chat_request = request("a/m");
    chat_request.cap_output = true;
    chat_request.body.update({{"web_search_options", schemas::Json::object()},
                              {"search_parameters", {{"mode", "on"}}},
                              {"service_tier", "priority"},
                              {"prediction", {{"type", "content"}, {"content", "p"}}}});
    chat_request.body["plugins"] = {{{"id", "web"}}};
    chat_request.body["n_predict"] = 100'000;
    Received received;
    ASSERT_FALSE(dependencies.answer(chat_request, received));
    const std::string body = upstream.bodies().back();
    for (const char* word : {"search", "priority", "prediction", "plugins", "n_predict"})
      EXPECT_EQ(std::string::npos, body.find(word)) << provider << word;
    ASSERT_TRUE(received.failed);
    const std::string dropped = schemas::dropped_text(received.failed->dropped);
    for (const char* name : {"web_search_options", "search_parameters", "service_tier", "prediction"})
      EXPECT_NE(std::string::npos, dropped.find(name)) << provider << name;

    chat_request.strict = true;
    Received refused;
    const auto end = dependencies.answer(chat_request, refused);
    ASSERT_FALSE(end);
    EXPECT_EQ(0, refused.sendings) << provider;
    if (std::string_view(provider) != "openrouter") continue;
    chat_request.strict = false;
    chat_request.models = {"b/m"};
    Received unbounded;
    ASSERT_FALSE(dependencies.answer(chat_request, unbounded));
    EXPECT_NE(std::string::npos, upstream.bodies().back().find("n_predict"));
  }
}

TEST(ChatCostBound, AServiceTierThatIsNotDearerStays) {
  ScriptedUpstream upstream({http(400, "{}")});
  ChatFixture dependencies(models({priced_row("a/m", upstream)}));
  for (const char* tier : {"auto", "default", "flex"}) {
    auto chat_request = request("a/m");
    chat_request.cap_output = true;
    chat_request.body["service_tier"] = tier;
    Received received;
    ASSERT_FALSE(dependencies.answer(chat_request, received));
    EXPECT_EQ(tier, schemas::Json::parse(upstream.bodies().back())["service_tier"]);
  }
}

TEST(ChatCostBound, TheBoundIsThatOfTheDearestModelAndFallback) {
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
  auto chat_request = request("a/m");
  chat_request.models = {"a/m", "c/m"};
  EXPECT_EQ("c/m", dependencies.chat.max_cost(chat_request).unpriced);
}

struct SentCap {
  const char* provider;
  const char* pointer;  // to the family's own member
};

TEST(ChatCostBound, TheCapIsSentInTheMemberOfEachFamily) {
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
      auto chat_request = quick ? schemas::read_chat_request(text).value() : request(model);
      chat_request.cap_output = true;
      if (requested > 0) chat_request.body["max_completion_tokens"] = requested;
      Received received;
      EXPECT_FALSE(dependencies.answer(chat_request, received));
      return schemas::Json::parse(upstream.bodies().back())[schemas::Json::json_pointer(pointer)];
    };
    EXPECT_EQ(kOutputMax, sent(0, "a/m", false)) << provider;
    EXPECT_EQ(70, sent(70, "a/m", false)) << provider;
    EXPECT_EQ(300, sent(0, "b/m", false)) << provider;
    EXPECT_EQ(300, sent(900, "b/m", false)) << provider;
    EXPECT_EQ(kOutputMax, sent(0, "a/m", true)) << provider;
  }
}

TEST(ChatCostBound, EachTargetGetsItsOwnCap) {
  ScriptedUpstream broken({failure()}), good({completion("hi")});
  ModelRow first = priced_row("a/m", broken), second = priced_row("b/m", good, "mistral");
  first.target.output_max = 300;
  first.fallbacks = {"b/m"};
  second.target.output_max = 700;
  ChatFixture dependencies(models({first, second}));
  for (const std::int64_t requested : {0, 500}) {
    auto chat_request = request("a/m");
    chat_request.cap_output = true;
    if (requested > 0) chat_request.body["max_completion_tokens"] = requested;
    Received received;
    ASSERT_TRUE(dependencies.answer(chat_request, received));
    EXPECT_EQ(300, schemas::Json::parse(broken.bodies().back())["max_completion_tokens"]);
    EXPECT_EQ(requested > 0 ? 500 : 700, schemas::Json::parse(good.bodies().back())["max_tokens"]);
    for (const CallCost& cost : received.costs)
      EXPECT_EQ(cost.max, max_cost(cost.model == "a/m" ? first : second, chat_request));
    if (requested > 0) {
      EXPECT_EQ("", schemas::dropped_text(received.heads.at(0).dropped));
    }
  }
}

TEST(ChatCostBound, ACapBelowTheRequestIsReportedAsClamped) {
  ScriptedUpstream upstream({completion("hi")});
  ModelRow row = priced_row("a/m", upstream);
  row.target.output_max = 300;
  ChatFixture dependencies(models({row}));
  auto chat_request = request("a/m");
  chat_request.body["max_completion_tokens"] = 500;
  chat_request.cap_output = true;
  Received received;
  ASSERT_TRUE(dependencies.answer(chat_request, received));
  EXPECT_EQ("max_completion_tokens;clamped", schemas::dropped_text(received.heads.at(0).dropped));
}

TEST(ChatCostBound, WithoutABudgetTheRequestIsNotChanged) {
  ScriptedUpstream upstream({completion("hi")});
  ChatFixture dependencies(models({priced_row("a/m", upstream)}));
  Received received;
  ASSERT_TRUE(dependencies.answer(request("a/m"), received));
  EXPECT_EQ(std::string::npos, upstream.bodies().back().find("max_"));
}

}  // namespace
}  // namespace millrace::inference
