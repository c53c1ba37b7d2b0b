#include <gtest/gtest.h>

#include "tests/unit/providers/family_cases.h"

namespace millrace::providers::anthropic_tools_test {
namespace {

using schemas::Json;
using testing::dropped_of;
using testing::sent_of;
using testing::target_of;

const Target kModel = target_of("anthropic", "claude-sonnet-4-5");
const std::string kTools = R"("tools": [
    {"type": "function", "function": {"name": "f", "description": "d", "strict": true, "parameters": {
        "$schema": "s", "type": "object", "properties": {"q": {"type": "string"}},
        "additionalProperties": false}}},
    {"type": "function", "function": {"name": "g"}}])";

Json with_tools(const std::string& more) { return sent_of(kModel, "{" + kTools + more + "}"); }

TEST(AnthropicTools, SchemasAreSentWhole) {
  EXPECT_EQ(with_tools("")["tools"], Json::parse(R"([
      {"name": "f", "description": "d", "strict": true, "input_schema": {"$schema": "s", "type": "object",
       "properties": {"q": {"type": "string"}}, "additionalProperties": false}},
      {"name": "g", "input_schema": {"type": "object", "properties": {}}}])"));
  EXPECT_FALSE(with_tools("").contains("tool_choice"));
}

TEST(AnthropicTools, StrictIsReportedWhereTheModelHasIt) {
  EXPECT_EQ(dropped_of(target_of("anthropic", "claude-3-haiku-20240307"), "{" + kTools + "}"),
            "tools;clamped");
}

TEST(AnthropicTools, EveryChoiceHasItsForm) {
  const auto choice = [](const std::string& form) { return with_tools(", " + form)["tool_choice"]; };
  EXPECT_EQ(choice(R"("tool_choice": "auto")"), Json::parse(R"({"type": "auto"})"));
  EXPECT_EQ(choice(R"("tool_choice": "none")"), Json::parse(R"({"type": "none"})"));
  EXPECT_EQ(choice(R"("tool_choice": "required")"), Json::parse(R"({"type": "any"})"));
  EXPECT_EQ(choice(R"("tool_choice": {"type": "function", "function": {"name": "g"}})"),
            Json::parse(R"({"type": "tool", "name": "g"})"));
  EXPECT_EQ(choice(R"("parallel_tool_calls": false)"),
            Json::parse(R"({"type": "auto", "disable_parallel_tool_use": true})"));
  EXPECT_EQ(choice(R"("tool_choice": "required", "parallel_tool_calls": false)"),
            Json::parse(R"({"type": "any", "disable_parallel_tool_use": true})"));
}

TEST(AnthropicTools, AllowedToolsAreTheOnlyOnes) {
  const Json sent = with_tools(R"(, "tool_choice": {"type": "allowed_tools", "allowed_tools": {
      "mode": "required", "tools": [{"type": "function", "function": {"name": "g"}}]}})");
  EXPECT_EQ(sent["tools"].size(), 1U);
  EXPECT_EQ(sent["tools"][0]["name"], "g");
  EXPECT_EQ(sent["tool_choice"], Json::parse(R"({"type": "any"})"));
}

TEST(AnthropicTools, ToolsThatAreNoFunctionsAreReported) {
  EXPECT_EQ(dropped_of(kModel, R"({"tools": [{"type": "custom", "custom": {"name": "c"}}]})"), "tools");
}

TEST(AnthropicTools, ASearchOfTheWebIsTheProvidersOwnTool) {
  EXPECT_EQ(sent_of(kModel, R"({"web_search_options": {"user_location": {"type": "approximate",
      "approximate": {"city": "Ulm"}}}})")["tools"],
            Json::parse(R"([{"type": "web_search_20250305", "name": "web_search",
      "user_location": {"type": "approximate", "city": "Ulm"}}])"));
  EXPECT_EQ(sent_of(kModel, R"({"search_parameters": {"mode": "on", "sources": [
      {"type": "web", "allowed_websites": ["a.example"]}]}})")["tools"][0]["allowed_domains"],
            Json({"a.example"}));
  EXPECT_EQ(dropped_of(kModel, R"({"search_parameters": {"mode": "on", "max_search_results": 3}})"),
            "search_parameters;clamped");
  EXPECT_FALSE(sent_of(kModel, R"({"search_parameters": {"mode": "off"}})").contains("tools"));
}

// Thinking depends on the generation of the model.

Json thinking(const std::string& model, const std::string& body) {
  return sent_of(target_of("anthropic", model), body).value("thinking", Json());
}
std::string lost(const std::string& model, const std::string& body) {
  return dropped_of(target_of("anthropic", model), body);
}
const std::string kBudget = R"({"thinking": {"type": "enabled", "budget_tokens": 5000}})";

TEST(AnthropicThinking, OldModelsTakeABudgetWithinTheirBounds) {
  EXPECT_EQ(thinking("claude-sonnet-4-5", kBudget),
            Json::parse(R"({"type": "enabled", "budget_tokens": 5000})"));
  const std::string small = R"({"thinking": {"type": "enabled", "budget_tokens": 10}})";
  EXPECT_EQ(thinking("claude-3-7-sonnet-latest", small)["budget_tokens"], 1024);
  EXPECT_EQ(lost("claude-3-7-sonnet-latest", small), "thinking;clamped");
  const std::string large =
      R"({"max_completion_tokens": 2000, "thinking": {"type": "enabled", "budget_tokens": 9000}})";
  EXPECT_EQ(thinking("claude-opus-4-1", large)["budget_tokens"], 1999);
  EXPECT_EQ(lost("claude-opus-4-1", R"({"max_completion_tokens": 100, "thinking": {"type": "enabled"}})"),
            "thinking");
  EXPECT_EQ(thinking("claude-opus-4-1", R"({"thinking": {"type": "disabled"}})")["type"], "disabled");
}

TEST(AnthropicThinking, ModelsThatDoNotThinkHaveItReported) {
  EXPECT_EQ(lost("claude-3-5-sonnet-20241022", kBudget), "thinking");
  EXPECT_EQ(lost("claude-3-5-sonnet-20241022", R"({"reasoning_effort": "low"})"), "reasoning_effort");
}

TEST(AnthropicThinking, NewModelsThinkAsTheyLikeGuidedByEffort) {
  const Json sent = sent_of(target_of("anthropic", "claude-opus-4-6"), kBudget);
  EXPECT_EQ(sent["thinking"], Json::parse(R"({"type": "adaptive"})"));
  EXPECT_EQ(sent["output_config"]["effort"], "medium");
  EXPECT_EQ(lost("claude-opus-4-6", kBudget), "thinking;clamped");
  EXPECT_EQ(thinking("claude-opus-4-7", kBudget),
            Json::parse(R"({"type": "adaptive", "display": "summarized"})"));
  EXPECT_EQ(lost("claude-opus-4-7", R"({"thinking": {"type": "enabled"}})"), "");
  EXPECT_EQ(lost("claude-fable-5", R"({"thinking": {"type": "disabled"}})"), "thinking");
  EXPECT_EQ(thinking("claude-opus-4-7", R"({"thinking": {"type": "disabled"}})"), Json());
}

TEST(AnthropicThinking, EffortIsABudgetToOldModelsAndAWordToNewOnes) {
  EXPECT_EQ(thinking("claude-sonnet-4-20250514", R"({"reasoning_effort": "medium"})")["budget_tokens"], 8192);
  const Target newest = target_of("anthropic", "claude-opus-4-7");
  EXPECT_EQ(sent_of(newest, R"({"reasoning_effort": "xhigh"})")["output_config"]["effort"], "xhigh");
  EXPECT_EQ(sent_of(newest, R"({"reasoning_effort": "minimal"})")["output_config"]["effort"], "low");
  EXPECT_EQ(lost("claude-opus-4-7", R"({"reasoning_effort": "minimal"})"), "reasoning_effort;clamped");
  EXPECT_EQ(lost("claude-opus-4-7", R"({"reasoning_effort": "lots"})"), "reasoning_effort");
  EXPECT_EQ(lost("claude-opus-4-7", R"({"reasoning_effort": "none"})"), "");
}

TEST(AnthropicThinking, WhatDoesNotGoWithThinkingIsReported) {
  const std::string both =
      R"({"temperature": 0.5, "top_p": 0.5, "top_k": 2, "thinking": {"type": "enabled"}})";
  EXPECT_EQ(lost("claude-sonnet-4-20250514", both), "temperature, top_p;clamped, top_k");
  EXPECT_EQ(
      dropped_of(kModel, "{" + kTools + R"(, "tool_choice": "required", "thinking": {"type": "enabled"}})"),
      "thinking");
}

TEST(AnthropicThinking, AToolTurnWithoutItsThoughtsGoesOnWithoutThinking) {
  EXPECT_EQ(lost("claude-sonnet-4-5", R"({"thinking": {"type": "enabled"}, "messages": [
      {"role": "user", "content": "u"}, {"role": "assistant", "tool_calls": [
          {"id": "b", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
      {"role": "tool", "tool_call_id": "b", "content": "r"}]})"),
            "thinking");
}

TEST(AnthropicThinking, ThinkingBetweenCallsNamesItsBeta) {
  const WireRequest wire = testing::sent(kModel, "{" + kTools + R"(, "thinking": {"type": "enabled"}})");
  const std::pair<std::string, std::string> beta = {"anthropic-beta", "interleaved-thinking-2025-05-14"};
  EXPECT_EQ(wire.headers.back(), beta);
}

}  // namespace
}  // namespace millrace::providers::anthropic_tools_test
