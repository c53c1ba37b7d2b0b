#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/config/models_section.h"
#include "app/config/settings.h"
#include "app/litellm/import.h"

namespace millrace::app::litellm_import_test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// The imported file as the gateway parses it.
class LitellmImportTest : public ::testing::Test {
 protected:
  void take(const std::string& yaml) {
    auto result = import_litellm("l.yaml", yaml, environment_);
    ASSERT_TRUE(result) << result.error().message;
    imported_ = *std::move(result);
    base::ConfigSources sources{.file_name = "m.yaml", .file_text = imported_.yaml};
    sources.sections = {"models", "providers", "aliases", "mcp"};
    config_ = base::Config::read(settings_table(), sources);
    EXPECT_THAT(config_.mistakes(), IsEmpty()) << imported_.yaml;
    section_ = read_models({config_.section("models"), config_.section("providers"),
                            config_.section("aliases"), config_.section("mcp")},
                           environment_, {});
    for (const auto& mistake : section_.mistakes)
      EXPECT_FALSE(mistake.fatal) << mistake.message << imported_.yaml;
  }
  const inference::ModelRow& row(std::size_t i) { return section_.settings.models.at(i); }

  std::map<std::string, std::string> environment_;
  LitellmImport imported_;
  base::Config config_;
  ModelsSection section_;
};

TEST_F(LitellmImportTest, AnEntryIsARowWithItsProviderKeyAndLimits) {
  environment_ = {{"TEAM_KEY", "s3cret"}};
  take(R"(model_list:
  - model_name: fast
    litellm_params: {model: openai/gpt-4o-mini, api_key: os.environ/TEAM_KEY, rpm: 600, tpm: 100000}
)");
  EXPECT_THAT(imported_.notes, IsEmpty());
  EXPECT_EQ(row(0).target.name, "fast");
  EXPECT_EQ(row(0).target.preset->name, "openai");
  EXPECT_EQ(row(0).target.model, "gpt-4o-mini");
  EXPECT_EQ(row(0).target.key.reveal(), "s3cret");
  EXPECT_EQ(row(0).limits.requests_per_minute, 600);
  EXPECT_EQ(row(0).limits.tokens_per_minute, 100000);
}

TEST_F(LitellmImportTest, EveryPrefixThatMillraceKnowsNamesItsProvider) {
  for (const auto& [theirs, ours] : std::map<std::string, std::string>{{"openai", "openai"},
                                                                       {"anthropic", "anthropic"},
                                                                       {"gemini", "gemini"},
                                                                       {"mistral", "mistral"},
                                                                       {"groq", "groq"},
                                                                       {"xai", "xai"},
                                                                       {"openrouter", "openrouter"},
                                                                       {"ollama_chat", "ollama"},
                                                                       {"hosted_vllm", "vllm"}}) {
    take("model_list: [{model_name: a, litellm_params: {model: " + theirs + "/some/model}}]");
    EXPECT_EQ(row(0).target.preset->name, ours);
    EXPECT_EQ(row(0).target.model, "some/model");
  }
}

TEST_F(LitellmImportTest, ANameWithoutAPrefixIsThatOfItsMaker) {
  take(
      "model_list: [{model_name: a, litellm_params: {model: gpt-4o}}, "
      "{model_name: b, litellm_params: {model: claude-sonnet-4-5}}]");
  EXPECT_EQ(row(0).target.preset->name, "openai");
  EXPECT_EQ(row(1).target.preset->name, "anthropic");
}

TEST_F(LitellmImportTest, AKeyInPlainTextIsNotWrittenAndItsPlaceIsReported) {
  take(
      "model_list:\n- model_name: a\n  litellm_params: {model: openai/x, api_key: sk-very-secret, "
      "extra_headers: {x-api-key: other-secret, x-proxy-password: third-secret, x-up: Bearer secret-4, "
      "x-team: research}}\n"
      "- model_name: b\n  litellm_params: {model: openai/y, api_key: sk-very-secret}\n");
  EXPECT_THAT(imported_.yaml, Not(HasSubstr("secret")));
  EXPECT_THAT(imported_.notes, Not(Contains(HasSubstr("secret-"))));
  EXPECT_THAT(imported_.notes, Contains(HasSubstr("LITELLM_KEY_1")));
  EXPECT_THAT(imported_.notes, Contains(HasSubstr("LITELLM_KEY_2")));
  EXPECT_THAT(imported_.yaml, HasSubstr("x-team: research"));
  EXPECT_THAT(imported_.notes, Contains(HasSubstr("LITELLM_KEY_4")));
  EXPECT_THAT(imported_.yaml, Not(HasSubstr("LITELLM_KEY_5")));
}

TEST_F(LitellmImportTest, AServerWithAUserInItsAddressIsNotImported) {
  take(
      "model_list: [{model_name: a, litellm_params: {model: openai/x, "
      "api_base: \"https://me:secret@host/v1\"}}, {model_name: b, litellm_params: {model: gpt-4o}}]");
  EXPECT_THAT(imported_.yaml, Not(HasSubstr("secret")));
  EXPECT_THAT(imported_.notes, Contains(HasSubstr("api_base")));
}

TEST_F(LitellmImportTest, ANumberThatIsTooLargeIsLeftOutAndReported) {
  take(
      "model_list:\n- model_name: a\n  litellm_params:\n    model: openai/x\n"
      "    rpm: 5000000000\n    tpm: 99999999999999999999\n    weight: inf\n"
      "    input_cost_per_token: 1e300\n    output_cost_per_token: 0.00001\n");
  EXPECT_EQ(row(0).limits.requests_per_minute, 0);
  EXPECT_EQ(row(0).limits.tokens_per_minute, 0);
  ASSERT_TRUE(row(0).price.has_value());
  EXPECT_EQ(row(0).price->prompt, 0);
  EXPECT_EQ(row(0).price->completion, 10);
  for (const char* key : {"rpm", "tpm", "weight", "input_cost_per_token"})
    EXPECT_THAT(imported_.notes, Contains(HasSubstr(std::string("litellm_params.") + key + ": left out")))
        << key;
}

TEST_F(LitellmImportTest, NotesComeInTheOrderOfTheirLines) {
  take(
      "general_settings: {master_key: x}\n"
      "router_settings: {fallbacks: [{a: [gone]}], cache_kwargs: {}}\n"
      "model_list:\n- model_name: a\n  litellm_params: {model: openai/x, caching: true}\n"
      "guardrails: []\n");
  const auto begins = [&](std::size_t i) { return imported_.notes.at(i).substr(0, 9); };
  ASSERT_EQ(imported_.notes.size(), 5U) << imported_.yaml;
  EXPECT_EQ(begins(0), "l.yaml:1:");
  EXPECT_EQ(begins(1), "l.yaml:2:");
  EXPECT_EQ(begins(2), "l.yaml:5:");
  EXPECT_EQ(begins(3), "l.yaml:6:");
  EXPECT_EQ(begins(4), "fallbacks");
}

TEST_F(LitellmImportTest, EntriesOfOneNameAreWeightedTargets) {
  take(
      "model_list:\n"
      "- {model_name: a, litellm_params: {model: openai/x, weight: 0.9}}\n"
      "- {model_name: a, litellm_params: {model: groq/y, weight: 0.1}}\n"
      "- {model_name: b, litellm_params: {model: openai/x, rpm: 30}}\n"
      "- {model_name: b, litellm_params: {model: groq/y, rpm: 10}}\n");
  EXPECT_EQ(row(0).weight, 90);
  EXPECT_EQ(row(1).weight, 10);
  EXPECT_EQ(row(2).weight, 30);
  EXPECT_EQ(row(3).weight, 10);
}

TEST_F(LitellmImportTest, FallbacksAliasesTriesAndTimesOfTheRouterAreKept) {
  take(
      "model_list:\n"
      "- {model_name: a, litellm_params: {model: openai/x}}\n"
      "- {model_name: b, litellm_params: {model: groq/y}}\n"
      "litellm_settings: {num_retries: 2, request_timeout: 90, default_fallbacks: [a]}\n"
      "router_settings: {fallbacks: [{a: [b, gone]}], model_group_alias: {c: a}, routing_strategy: "
      "simple-shuffle}\n");
  EXPECT_THAT(row(0).fallbacks, ElementsAre("b"));
  EXPECT_THAT(row(1).fallbacks, ElementsAre("a"));
  EXPECT_EQ(row(2).target.name, "c");
  EXPECT_EQ(row(2).target.model, "x");
  EXPECT_THAT(row(2).fallbacks, ElementsAre("b")) << "an alias has the fallbacks of its group";
  EXPECT_EQ(config_.integer("chat.tries"), 3);
  EXPECT_EQ(config_.duration("chat.total_timeout"), std::chrono::seconds(90));
  EXPECT_THAT(imported_.notes, Contains(HasSubstr("gone was not imported")));
}

TEST_F(LitellmImportTest, AServerOfOnesOwnKeepsItsPlace) {
  take(
      "model_list:\n"
      "- {model_name: a, litellm_params: {model: ollama/llama3, api_base: 'http://127.0.0.1:11434'}}\n"
      "- {model_name: b, litellm_params: {model: azure/mine, api_base: 'https://x.example', api_version: "
      "v}}\n"
      "- {model_name: c, litellm_params: {model: lm_studio/qwen, api_base: 'http://127.0.0.1:1234/v1'}}\n");
  EXPECT_EQ(row(0).target.base_url, "http://127.0.0.1:11434/v1");
  EXPECT_EQ(row(1).target.base_url, "https://x.example/openai/v1");
  EXPECT_EQ(row(2).target.preset->name, "openai");
  EXPECT_EQ(row(2).target.model, "qwen");
  EXPECT_THAT(imported_.notes, Contains(HasSubstr("lm_studio is not known here")));
  EXPECT_THAT(imported_.notes, Contains(HasSubstr("gets no key")));
}

TEST_F(LitellmImportTest, PricesAreByTheMillionAndModesAreAbilities) {
  take(
      "model_list:\n- model_name: a\n  litellm_params: {model: openai/x, input_cost_per_token: 0.00000015}\n"
      "  model_info: {mode: embedding, output_cost_per_token: 6.0e-07}\n");
  ASSERT_TRUE(row(0).price);
  EXPECT_DOUBLE_EQ(row(0).price->prompt, 0.15);
  EXPECT_DOUBLE_EQ(row(0).price->completion, 0.6);
  EXPECT_THAT(row(0).abilities, ElementsAre(inference::Ability::kEmbeddings));
}

TEST_F(LitellmImportTest, EveryPartOfAPriceHasItsUnit) {
  take(
      "model_list:\n- model_name: a\n  litellm_params: {model: openai/x, input_cost_per_token: 0.000002}\n"
      "  model_info: {cache_read_input_token_cost: 5.0e-07, cache_creation_input_token_cost: 3.0e-06,\n"
      "    output_cost_per_reasoning_token: 1.2e-05, output_cost_per_image: 0.04, output_cost_per_second: "
      "0.0001,\n"
      "    input_cost_per_character: 1.5e-05, ocr_cost_per_page: 0.001, input_cost_per_request: 0.005,\n"
      "    max_input_tokens: 128000}\n");
  ASSERT_TRUE(row(0).price);
  const inference::Price& price = *row(0).price;
  EXPECT_DOUBLE_EQ(price.prompt, 2);
  EXPECT_DOUBLE_EQ(*price.cached, 0.5);
  EXPECT_DOUBLE_EQ(*price.cache_write, 3);
  EXPECT_DOUBLE_EQ(*price.reasoning, 12);
  EXPECT_DOUBLE_EQ(*price.image, 0.04);
  EXPECT_DOUBLE_EQ(*price.audio_second, 0.0001);
  EXPECT_DOUBLE_EQ(*price.character, 0.000015);
  EXPECT_DOUBLE_EQ(*price.page, 0.001);
  EXPECT_DOUBLE_EQ(*price.request, 0.005);
  EXPECT_EQ(row(0).target.input_max, 128'000);
}

TEST_F(LitellmImportTest, AStarIsTheWholeProvider) {
  take("model_list: [{model_name: 'groq/*', litellm_params: {model: 'groq/*', api_key: os.environ/G}}]");
  EXPECT_THAT(imported_.yaml, HasSubstr("groq: {api_key: env:G}"));
  EXPECT_EQ(imported_.rows, 1u);
}

TEST_F(LitellmImportTest, WhatCannotBeImportedIsReportedWithItsLine) {
  take(
      "model_list:\n"
      "- model_name: a\n"
      "  litellm_params: {model: openai/x, stream_timeout: 5}\n"
      "- model_name: b\n"
      "  litellm_params: {model: bedrock/y}\n"
      "general_settings: {master_key: sk-1}\n"
      "strange: 1\n");
  EXPECT_THAT(imported_.notes, Contains(HasSubstr("l.yaml:3: litellm_params.stream_timeout")));
  EXPECT_THAT(imported_.notes, Contains(HasSubstr("l.yaml:5: litellm_params.model: not imported")));
  EXPECT_THAT(imported_.notes, Contains(HasSubstr("l.yaml:6: general_settings")));
  EXPECT_THAT(imported_.notes, Contains(HasSubstr("l.yaml:7: left out: strange")));
  EXPECT_EQ(imported_.rows, 1u);
}

TEST_F(LitellmImportTest, WordsThatYamlWouldTakeForSomethingElseAreQuoted) {
  take("model_list: [{model_name: 'true', litellm_params: {model: 'openai/1e3'}}]");
  EXPECT_EQ(row(0).target.name, "true");
  EXPECT_EQ(row(0).target.model, "1e3");
}

TEST(LitellmImportRefusal, AFileWithoutAModelIsRefusedWithEveryReason) {
  const auto none =
      import_litellm("l.yaml", "model_list: [{model_name: a, litellm_params: {model: bedrock/x}}]", {});
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("bedrock"));
  EXPECT_FALSE(import_litellm("l.yaml", "model_list: [", {}));
  const std::string latin = "model_list: [{model_name: '\xe9', litellm_params: {model: openai/x}}]";
  EXPECT_THAT(import_litellm("l.yaml", latin, {}).error().message, HasSubstr("not UTF-8"));
  EXPECT_FALSE(import_litellm("l.yaml", "model_list: 3", {}));
  EXPECT_FALSE(import_litellm("l.yaml", "model_list: [3, [4], {model_name: {a: b}}]", {}));
}

}  // namespace
}  // namespace millrace::app::litellm_import_test
