#include "ai/inference/routing/registry.h"

#include <gtest/gtest.h>

#include "tests/unit/inference/rows.h"

namespace millrace::inference {
namespace {

using testing::open_provider;
using testing::row;

ModelSettings settings() {
  ModelSettings settings;
  settings.models = {row("provider-a/gpt-4.1", "openai"), row("local/llama", "ollama"),
                     row("local/llama", "vllm")};
  settings.open_providers = {open_provider("openai"), open_provider("gemini")};
  settings.aliases = {{"provider-a", "openai"}, {"provider-b", "gemini"}};
  return settings;
}

TEST(Registry, AConfiguredNameIsFoundWithAllItsTargets) {
  const Registry registry(settings());
  const auto model = registry.find("local/llama");
  ASSERT_TRUE(model);
  EXPECT_EQ("local/llama", (*model)->name);
  EXPECT_EQ(2u, (*model)->rows.size());
}

TEST(Registry, AnAliasOfAPrefixNamesTheSameModelInBothDirections) {
  const Registry registry(settings());
  EXPECT_EQ("provider-a/gpt-4.1", registry.find("openai/gpt-4.1").value()->name);
  EXPECT_EQ("openai/gpt-5", registry.find("provider-a/gpt-5").value()->name);
  EXPECT_EQ("gemini/gemini-2.5-pro", registry.find("provider-b/gemini-2.5-pro").value()->name);
}

TEST(Registry, AnOpenProviderAnswersForEveryModelOfItsPrefix) {
  const Registry registry(settings());
  const auto model = registry.find("openai/a/b");
  ASSERT_TRUE(model);
  EXPECT_EQ("openai/a/b", (*model)->rows[0].target.name);
  EXPECT_EQ("a/b", (*model)->rows[0].target.model);
  EXPECT_EQ("https://api.openai.com/v1", (*model)->rows[0].target.base_url);
  EXPECT_FALSE(registry.find("openai/"));
  EXPECT_FALSE(registry.find("gpt-4.1"));
}

TEST(Registry, TheErrorOfAnUnknownNameSuggestsTheNearestOne) {
  const Registry registry(settings());
  const auto model = registry.find("local/lama");
  ASSERT_FALSE(model);
  EXPECT_EQ(base::Code::kModelNotFound, model.error().code);
  EXPECT_EQ("model", model.error().param);
  EXPECT_NE(std::string::npos, model.error().message.find("'local/llama'")) << model.error().message;
}

TEST(Registry, AProviderWithoutAKeyIsReportedWithItsVariable) {
  const Registry registry(settings());
  const auto model = registry.find("anthropic/claude-sonnet-4-5");
  ASSERT_FALSE(model);
  EXPECT_NE(std::string::npos, model.error().message.find("ANTHROPIC_API_KEY")) << model.error().message;
}

TEST(Registry, TheMocksAreThereOnlyWhenEnabledAndBehindTheConfiguredOnes) {
  EXPECT_FALSE(Registry(settings()).find("mock/chat"));
  ModelSettings with = settings();
  with.mock = true;
  const Registry registry(with);
  EXPECT_TRUE(registry.find("mock/chat"));
  ASSERT_EQ(5u, registry.configured().size());
  EXPECT_EQ("mock/image", registry.configured().back()->name);
  EXPECT_EQ(std::vector{Ability::kEmbeddings}, registry.find("mock/embedding").value()->rows[0].abilities);
}

}  // namespace
}  // namespace millrace::inference
