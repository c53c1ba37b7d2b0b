#include "ai/providers/families.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "ai/providers/openai/request.h"
#include "tests/unit/providers/openai_cases.h"

namespace millrace::providers::families_test {
namespace {

using testing::target_of;

TEST(Presets, EachNameStandsForOneProvider) {
  std::set<std::string_view> names;
  for (const Preset& preset : presets()) {
    EXPECT_TRUE(names.insert(preset.name).second) << preset.name;
    EXPECT_EQ(&preset, preset_named(preset.name));
    EXPECT_FALSE(preset.base_url.ends_with('/')) << preset.name;
  }
  for (const char* name : {"openai", "anthropic", "gemini", "xai", "mistral", "groq", "ollama", "vllm",
                           "llamacpp", "openrouter", "mock"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
  EXPECT_EQ(nullptr, preset_named("acme"));
}

TEST(ParameterTable, EachParameterOfARequestHasACellForEachProvider) {
  const std::vector<std::string> names = testing::parameters();
  EXPECT_EQ(34u, names.size());
  for (const std::string& name : names) {
    for (const Preset& preset : presets()) EXPECT_TRUE(support(preset.dialect, name)) << name << preset.name;
  }
  EXPECT_EQ(std::nullopt, support(Dialect::kOpenai, "brand_new"));
}

TEST(ParameterTable, TheRowsMatchWhatTheProvidersDocument) {
  EXPECT_EQ(Support::kDropped, support(Dialect::kAnthropic, "seed"));
  EXPECT_EQ(Support::kClamped, support(Dialect::kAnthropic, "temperature"));
  EXPECT_EQ(Support::kEmulated, support(Dialect::kAnthropic, "n"));
  EXPECT_EQ(Support::kNative, support(Dialect::kGemini, "top_k"));
  EXPECT_EQ(Support::kNative, support(Dialect::kGemini, "generation_config"));
  EXPECT_EQ(Support::kDropped, support(Dialect::kXai, "top_k"));
  EXPECT_EQ(Support::kDropped, support(Dialect::kMistral, "logprobs"));
  EXPECT_EQ(Support::kEmulated, support(Dialect::kGroq, "n"));
  EXPECT_EQ(Support::kDropped, support(Dialect::kGroq, "logit_bias"));
  EXPECT_EQ(Support::kNative, support(Dialect::kLocal, "top_k"));
}

TEST(ModelRules, ReasoningModelsOfOpenaiTakeNoSampling) {
  for (const char* model : {"o1", "o3-mini", "o4-mini", "gpt-5", "gpt-5-mini"}) {
    EXPECT_EQ(Support::kDropped, support(target_of("openai", model), "temperature")) << model;
    EXPECT_EQ(Support::kDropped, support(target_of("openai", model), "stop")) << model;
    EXPECT_EQ(Support::kNative, support(target_of("openai", model), "reasoning_effort")) << model;
  }
  for (const char* model : {"gpt-4o", "gpt-5-chat-latest"})
    EXPECT_EQ(Support::kNative, support(target_of("openai", model), "temperature")) << model;
  EXPECT_EQ(Support::kDropped, support(target_of("openai", "gpt-4o"), "reasoning_effort"));
}

TEST(ModelRules, ReasoningModelsOfXaiTakeNeitherStopNorPenalties) {
  for (const char* model : {"grok-4", "grok-3-mini", "grok-4-fast-reasoning", "grok-code-fast-1"}) {
    for (const char* name : {"stop", "presence_penalty", "frequency_penalty"})
      EXPECT_EQ(Support::kDropped, support(target_of("xai", model), name)) << model << name;
  }
  EXPECT_EQ(Support::kNative, support(target_of("xai", "grok-4-fast-non-reasoning"), "stop"));
  EXPECT_EQ(Support::kDropped, support(target_of("xai", "grok-4-fast-reasoning"), "reasoning_effort"));
  EXPECT_EQ(Support::kNative, support(target_of("xai", "grok-4.3"), "reasoning_effort"));
}

TEST(ModelRules, WhatOllamaIgnoresIsNotSentToIt) {
  EXPECT_EQ(Support::kEmulated, support(target_of("ollama", "llama3"), "n"));
  EXPECT_EQ(Support::kDropped, support(target_of("ollama", "llama3"), "top_k"));
  EXPECT_EQ(Support::kNative, support(target_of("vllm", "llama3"), "n"));
}

TEST(ModelRules, AWordIsTakenWhereTheModelKnowsIt) {
  EXPECT_TRUE(supports_value(target_of("mistral", "mistral-small-latest"), "reasoning_effort", "high"));
  EXPECT_FALSE(supports_value(target_of("mistral", "mistral-small-latest"), "reasoning_effort", "low"));
  EXPECT_FALSE(supports_value(target_of("xai", "grok-3-mini"), "reasoning_effort", "medium"));
  for (const char* model : {"grok-4.5", "grok-4.6"}) {
    const Target grok = target_of("xai", model);
    EXPECT_EQ(Support::kNative, support(grok, "reasoning_effort")) << model;
    EXPECT_TRUE(supports_value(grok, "reasoning_effort", "medium")) << model;
    EXPECT_FALSE(supports_value(grok, "reasoning_effort", "none")) << model;
    EXPECT_EQ(model == std::string_view("grok-4.6"), supports_value(grok, "reasoning_effort", "xhigh"));
  }
  EXPECT_FALSE(supports_value(target_of("groq", "openai/gpt-oss-120b"), "reasoning_effort", "none"));
  EXPECT_TRUE(supports_value(target_of("groq", "qwen/qwen3-32b"), "reasoning_effort", "none"));
}

}  // namespace
}  // namespace millrace::providers::families_test
