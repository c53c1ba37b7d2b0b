#include "ai/inference/routing/price.h"

#include <random>

#include <gtest/gtest.h>

#include "ai/inference/routing/charges.h"
#include "ai/inference/routing/routing.h"
#include "tests/unit/inference/rows.h"

namespace millrace::inference {
namespace {

using schemas::ChatRequest;
using schemas::NanoUsd;
using testing::request;

ModelRow priced(Price price, const std::string& provider = "openai") {
  ModelRow row = testing::row("a/m", provider);
  row.price = price;
  return row;
}

schemas::Json image(const std::string& url) { return {{"type", "image_url"}, {"image_url", {{"url", url}}}}; }

ChatRequest with_part(schemas::Json part) {
  ChatRequest chat_request = request("a/m");
  chat_request.body["messages"][0]["content"] = schemas::Json::array({std::move(part)});
  return chat_request;
}

class MaxCost : public ::testing::Test {
 protected:
  template <class Number>
  Number any(Number least, Number most) {
    if constexpr (std::is_integral_v<Number>)
      return std::uniform_int_distribution<Number>(least, most)(random);
    else
      return std::uniform_real_distribution<Number>(least, most)(random);
  }
  Price any_price() {
    Price price{.prompt = any(0.0, 20.0), .completion = any(0.0, 80.0)};
    for (const PricePart& part : kPriceParts)
      if (any(0, 1) == 1) price.*part.value = any(0.0, part.per_million ? 90.0 : 0.1);
    return price;
  }
  ChatRequest any_request() {
    ChatRequest chat_request = request("a/m", std::string(any<std::size_t>(0, 2'000), 'x'));
    if (any(0, 1) == 1) chat_request.body["max_completion_tokens"] = any(1, 100'000);
    if (any(0, 1) == 1) chat_request.body["tools"] = {testing::tool("get_weather")};
    chat_request.n = any(1, 4);
    return chat_request;
  }
  schemas::ChatUsage any_usage(std::int64_t prompt_most, std::int64_t completion_most) {
    schemas::ChatUsage usage;
    usage.prompt = any<std::int64_t>(0, prompt_most);
    usage.completion = any<std::int64_t>(0, completion_most);
    usage.cached = any<std::int64_t>(0, usage.prompt);
    usage.cache_write = any<std::int64_t>(0, usage.prompt);
    usage.reasoning = any<std::int64_t>(0, usage.completion);
    return usage;
  }

  std::mt19937_64 random{27};
};

TEST_F(MaxCost, IsNeverBelowTheCostOfAUsageWithinTheCap) {
  for (int i = 0; i < 2'000; ++i) {
    ModelRow row = priced(any_price(), any(0, 1) == 1 ? "openai" : "anthropic");
    if (any(0, 1) == 1) row.target.output_max = any(1, 50'000);
    const ChatRequest chat_request = any_request();
    const int choices = fans_out(row.target, chat_request) ? 1 : chat_request.n;
    const std::int64_t completion = output_cap(row.target, requested_output(chat_request)) * choices;
    const auto tokens = static_cast<std::int64_t>(chat_request.body.dump().size());
    const NanoUsd most = max_cost(row, chat_request).value();
    for (int k = 0; k < 5; ++k)
      ASSERT_GE(most, schemas::nano_usd(cost_of(*row.price, any_usage(tokens, completion)))) << i;
  }
}

TEST_F(MaxCost, CountsAByteAsATokenAndTheDearestPriceOfThePrompt) {
  const ChatRequest chat_request = request("a/m", std::string(1'000, 'x'));
  const Price cheap_cache{.prompt = 1, .cached = 0.1};
  const Price dear_cache{.prompt = 1, .cached = 3};
  const NanoUsd one = max_cost(priced(cheap_cache), chat_request).value();
  EXPECT_GE(one, (1'000 + kAddedTokensMax) * 1'000);
  EXPECT_EQ(max_cost(priced(dear_cache), chat_request).value(), 3 * one);
}

TEST_F(MaxCost, OfARequestThatIsNotYetParsedIsNotLessThanLater) {
  std::string body = R"({"model":"a/m","max_tokens":70,"messages":[{"role":"user","content":"hello"}]})";
  auto quick = schemas::read_chat_request(body);
  ASSERT_TRUE(quick.has_value());
  ASSERT_FALSE(quick->quick.empty());
  EXPECT_EQ(requested_output(*quick), 70);
  EXPECT_EQ(max_cost(priced({.completion = 1}), *quick), 70'000);
  const std::int64_t before = prompt_max(*quick);
  schemas::form_body(*quick);
  EXPECT_LE(prompt_max(*quick), before);
  EXPECT_GE(prompt_max(*quick), kAddedTokensMax + 30);
}

TEST_F(MaxCost, OfAnImageAndOfAFileDoesNotDependOnTheirBytes) {
  const std::int64_t bare = prompt_max(request("a/m"));
  const std::int64_t small = prompt_max(with_part(image("data:image/png;base64,AAAA")));
  const std::int64_t large = prompt_max(with_part(image("data:image/png;base64," + std::string(9'000, 'A'))));
  EXPECT_EQ(small, large);
  EXPECT_GE(small, kImageTokensMax);
  EXPECT_LT(small, kImageTokensMax + bare + 100);
  EXPECT_GE(prompt_max(with_part(image("https://files.local/a.png"))), kImageTokensMax);
  const schemas::Json file = {{"type", "file"}, {"file", {{"file_id", "file-1"}}}};
  EXPECT_GE(prompt_max(with_part(file)), kContextTokensMax);
  for (const char* type : {"audio_url", "video_url"})
    EXPECT_GE(prompt_max(with_part({{"type", type}, {type, {{"url", "https://h/a"}}}})), kContextTokensMax);
}

TEST_F(MaxCost, OfThePicturesOfAToolResultIsThatOfImages) {
  const ChatRequest bare = request("a/m");
  ChatRequest shown = bare;
  schemas::append_turn(shown, {},
                       {{"c", "text", {"data:image/png;base64,AAAA", "data:image/png;base64,AAAA"}}});
  EXPECT_GE(prompt_max(shown), prompt_max(bare) + 2 * kImageTokensMax);
}

TEST_F(MaxCost, OfASchemaThatLooksLikeAnImageCountsItsBytes) {
  ChatRequest chat_request = request("a/m");
  chat_request.body["tools"] = {image("data:" + std::string(100'000, 'x'))};
  EXPECT_GE(prompt_max(chat_request), 100'000);
}

TEST_F(MaxCost, CoversTheChoicesOfOneCall) {
  ChatRequest chat_request = request("a/m");
  const auto most = [&](const std::string& provider) {
    return max_cost(priced({.completion = 1}, provider), chat_request).value();
  };
  const NanoUsd one = most("openai");
  chat_request.n = 3;
  EXPECT_EQ(most("openai"), 3 * one);
  EXPECT_EQ(most("groq"), one);  // it takes three calls
}

TEST_F(MaxCost, IsUnknownWithoutAPriceExceptForTheMockAndForServersOfOurOwn) {
  const ChatRequest chat_request = request("a/m");
  EXPECT_EQ(max_cost(testing::row("a/m", "openai"), chat_request), std::nullopt);
  EXPECT_EQ(max_cost(testing::row("a/m", "openrouter"), chat_request), std::nullopt);
  EXPECT_EQ(max_cost(testing::row("a/m", "mock"), chat_request), 0);
  EXPECT_EQ(max_cost(testing::row("a/m", "ollama"), chat_request), 0);
  EXPECT_GT(max_cost(priced({.completion = 1}, "ollama"), chat_request), 0);
}

TEST_F(MaxCost, OfAPromptIsBoundedByTheContextOfTheModel) {
  ModelRow row = priced({.prompt = 1});
  row.target.input_max = 2'000;
  EXPECT_EQ(max_cost(row, request("a/m", std::string(9'000, 'x'))), 2'000'000);
}

TEST_F(MaxCost, IsBoundedWhateverTheRequestAllows) {
  ChatRequest chat_request = request("a/m");
  chat_request.body["max_completion_tokens"] = INT32_MAX;
  chat_request.n = 128;
  EXPECT_EQ(max_cost(priced({.completion = 1'000'000}), chat_request), 1'000'000'000 * schemas::kNanoPerUsd);
}

TEST_F(MaxCost, OfAHostileLimitIsHuge) {
  for (const std::uint64_t most : {9'000'000'000'000'000'000u, 1ul << 62u, UINT64_MAX}) {
    ChatRequest chat_request = request("a/m");
    chat_request.body["max_completion_tokens"] = most;
    for (const int choices : {1, 4}) {
      chat_request.n = choices;
      EXPECT_EQ(max_cost(priced({.completion = 1}), chat_request), 1'000'000'000 * schemas::kNanoPerUsd)
          << most;
    }
  }
}

TEST(CostOf, AHostileUsageCostsTheMostThatFits) {
  schemas::ChatUsage usage;
  usage.completion = INT64_MAX;
  EXPECT_EQ(certain_cost(Price{.completion = 1'000}, usage), schemas::kNanoUsdMax);
}

TEST(Charges, ASumThatDoesNotFitStaysTheMost) {
  Charges charges;
  Charges::Call calls[6];
  for (Charges::Call& call : calls) {
    call.max = 1'000'000'000 * schemas::kNanoPerUsd;
    charges.ask(call);
  }
  EXPECT_EQ(schemas::kNanoUsdMax, charges.run_max());
  for (Charges::Call& call : calls) charges.answer(call, true);
  EXPECT_EQ(schemas::kNanoUsdMax, charges.total().cost);
  charges.set_cost(calls[0], 5);
  EXPECT_EQ(schemas::kNanoUsdMax, charges.total().cost);
}

TEST(CostOf, CountsEachTokenWithTheDearestNameThatItHas) {
  const Price price{.prompt = 1, .completion = 10, .cached = 0.1, .cache_write = 4, .reasoning = 20};
  schemas::ChatUsage usage;
  usage.prompt = 1'000'000;
  usage.completion = 100'000;
  EXPECT_DOUBLE_EQ(cost_of(price, usage), 1 + 1);
  usage.cached = 500'000;
  EXPECT_DOUBLE_EQ(cost_of(price, usage), 0.5 + 0.05 + 1);
  usage.cache_write = 200'000;
  EXPECT_DOUBLE_EQ(cost_of(price, usage), 0.3 + 0.05 + 0.8 + 1);
  usage.reasoning = 40'000;
  EXPECT_DOUBLE_EQ(cost_of(price, usage), 0.3 + 0.05 + 0.8 + 0.6 + 0.8);
}

TEST(CostOf, APartWithoutAPriceCostsAsTheWhole) {
  schemas::ChatUsage usage;
  usage.prompt = usage.cached.emplace(1'000'000);
  usage.completion = usage.reasoning.emplace(1'000'000);
  EXPECT_DOUBLE_EQ(cost_of({.prompt = 1, .completion = 2}, usage), 3);
  usage.cached = 0;
  usage.cache_write = 1'000'000;
  EXPECT_DOUBLE_EQ(cost_of({.prompt = 1, .completion = 2}, usage), 3);
}

TEST(CostOf, UnitsAreCountedByTheirOwnPrices) {
  const Units units{.images = 2, .pages = 3, .characters = 5, .audio_seconds = 7};
  EXPECT_DOUBLE_EQ(cost_of({.image = 1}, {}, units), 2);
  EXPECT_DOUBLE_EQ(cost_of({.page = 1}, {}, units), 3);
  EXPECT_DOUBLE_EQ(cost_of({.character = 1}, {}, units), 5);
  EXPECT_DOUBLE_EQ(cost_of({.audio_second = 1}, {}, units), 7);
  EXPECT_DOUBLE_EQ(cost_of({.request = 1}, {}, units), 1);
}

TEST(CostOf, CountsThatContradictEachOtherAreNotCountedTwice) {
  schemas::ChatUsage usage;
  usage.prompt = 1'000'000;
  usage.cached = usage.cache_write = 2'000'000;
  usage.completion = 1'000'000;
  usage.reasoning = 9'000'000;
  EXPECT_DOUBLE_EQ(cost_of({.prompt = 1, .completion = 2}, usage), 3);
}

TEST(OutputCap, IsWhatTheRequestAllowsWithinWhatTheModelCan) {
  providers::Target target;
  EXPECT_EQ(output_cap(target, std::nullopt), kOutputMax);
  EXPECT_EQ(output_cap(target, 70), 70);
  EXPECT_EQ(output_cap(target, 100'000), 100'000);
  target.output_max = 4'000;
  EXPECT_EQ(output_cap(target, std::nullopt), 4'000);
  EXPECT_EQ(output_cap(target, 70), 70);
  EXPECT_EQ(output_cap(target, 100'000), 4'000);
}

}  // namespace
}  // namespace millrace::inference
