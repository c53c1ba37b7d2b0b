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
      {"name": "f", "description": "d", "strict": true, "input_schema": {"type": "object",
       "properties": {"q": {"type": "string"}}, "additionalProperties": false}},
      {"name": "g", "input_schema": {"type": "object", "properties": {}}}])"));
  EXPECT_FALSE(with_tools("").contains("tool_choice"));
}

Json one_tool(const std::string& parameters, const std::string& reported, bool is_strict = false) {
  const std::string body = R"({"tools": [{"type": "function", "function": {"name": "f", "strict": )" +
                           std::string(is_strict ? "true" : "false") + R"(, "parameters": )" + parameters +
                           "}}]}";
  EXPECT_EQ(dropped_of(kModel, body), reported) << parameters;
  return sent_of(kModel, body)["tools"][0];
}
Json input(const std::string& parameters, const std::string& reported) {
  return one_tool(parameters, reported)["input_schema"];
}

TEST(AnthropicTools, AUnionAtTheRootIsFoldedIntoOneObject) {
  EXPECT_EQ(
      input(R"({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
      "anyOf": [{"required": ["a"]}, {"required": ["b"]}]})",
            "tools;clamped"),
      Json::parse(R"({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}})"));
  EXPECT_EQ(
      input(
          R"({"$ref": "#/$defs/A", "$defs": {"A": {"type": "object", "properties": {"next": {"$ref": "#/$defs/A"}},
      "required": ["next"]}}})",
          "tools;clamped"),
      Json::parse(R"({"type": "object", "properties": {"next": {"$ref": "#/$defs/A"}}, "required": ["next"],
      "$defs": {"A": {"type": "object", "properties": {"next": {"$ref": "#/$defs/A"}}, "required": ["next"]}}})"));
  EXPECT_EQ(input(R"({"allOf": [{"properties": {"a": {"type": "string"}}, "required": ["a"]},
      {"oneOf": [{"properties": {"b": {"const": 1}}, "required": ["b", "c"]},
                 {"properties": {"b": {"const": 2}, "c": {"type": "null"}}, "required": ["b"]}]}]})",
                  "tools;clamped"),
            Json::parse(R"({"type": "object", "properties": {"a": {"type": "string"}, "b": {"enum": [1, 2]},
      "c": {"type": "null"}}, "required": ["a", "b"]})"));
  EXPECT_EQ(input(R"({"anyOf": [{"$ref": "#"}, {"type": "null"}, false]})", "tools;clamped"),
            Json::parse(R"({"type": "object", "properties": {}})"));
}

TEST(AnthropicTools, ASchemaThatIsNotValidIsMadeValid) {
  EXPECT_EQ(
      input(R"({"properties": {"a": {"type": "any", "required": true}, "b": null, "c": {"type": "STRING",
      "enum": null}, "d": {"type": "array", "items": [{"type": "string"}]}, "e": {"$ref": "https://h/s"},
      "f": {"type": "number", "exclusiveMinimum": true, "minimum": 1}}, "required": ["a", "a", 3]})",
            ""),
      Json::parse(R"({"type": "object", "properties": {"a": {}, "b": {}, "c": {"type": "string"},
      "d": {"type": "array", "prefixItems": [{"type": "string"}]}, "e": {}, "f": {"type": "number", "minimum": 1}},
      "required": ["a"]})"));
}

TEST(AnthropicTools, StrictSchemasLoseWhatAnthropicDoesNotCheck) {
  EXPECT_EQ(
      one_tool(R"({"type": "object", "properties": {"n": {"type": "integer", "minimum": 1, "maximum": 9},
      "l": {"type": "array", "items": {"type": "string", "maxLength": 3}, "minItems": 1, "maxItems": 2,
            "description": "A list."}, "e": {"type": "string", "pattern": "^[a-z]{2}$", "format": "uri-template"},
      "o": {"type": "object", "properties": {"x": {"oneOf": [{"type": "string"}, {"type": "null"}]}}}}})",
               "tools;clamped", true),
      Json::parse(R"({"name": "f", "strict": true, "input_schema": {"type": "object", "properties": {
      "n": {"type": "integer", "description": "Must be at least 1, at most 9."},
      "l": {"type": "array", "items": {"type": "string", "description": "Must be at most 3 characters long."},
            "minItems": 1, "description": "A list. Must be of at most 2 items."},
      "e": {"type": "string", "pattern": "^[a-z]{2}$", "description": "Must be of the format uri-template."},
      "o": {"type": "object", "properties": {"x": {"anyOf": [{"type": "string"}, {"type": "null"}]}},
            "additionalProperties": false}}, "additionalProperties": false}})"));
}

TEST(AnthropicTools, WhatStrictSchemasCannotExpressIsSentWithoutStrict) {
  for (const char* member :
       {R"({"type": "object"})", R"({"type": "object", "additionalProperties": {"type": "string"}})", "{}",
        "true", R"({"$ref": "#"})",
        R"({"type": "object", "properties": {"a": {"description": "anything"}}})"}) {
    const std::string schema = R"({"type": "object", "properties": {"m": )" + std::string(member) + "}}";
    const Json tool = one_tool(schema, "tools;clamped", true);
    EXPECT_FALSE(tool.contains("strict")) << member;
    EXPECT_EQ(tool["input_schema"]["properties"]["m"], Json::parse(member));
  }
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

// An object with this many optional members; `is_union`: each may be null.
Json loose(int members, bool is_union = false) {
  Json properties = Json::object();
  for (int i = 0; i < members; ++i)
    properties["p" + std::to_string(i)] = {{"type", is_union ? Json({"string", "null"}) : Json("string")}};
  return {{"type", "object"}, {"properties", properties}, {"additionalProperties", false}};
}

// Which of these strict tools go out as such: "10" for the first of two.
std::string strict_ones(const std::vector<Json>& schemas, const Json& format = nullptr) {
  Json body = {{"tools", Json::array()}};
  for (const Json& schema : schemas)
    body["tools"].push_back(
        {{"type", "function"},
         {"function",
          {{"name", "f" + std::to_string(body["tools"].size())}, {"strict", true}, {"parameters", schema}}}});
  if (!format.is_null())
    body["response_format"] = {{"type", "json_schema"}, {"json_schema", {{"name", "n"}, {"schema", format}}}};
  const WireRequest wire = testing::sent(kModel, body.dump());
  std::string text;
  const Json sent = Json::parse(wire.body);
  for (const Json& tool : sent["tools"]) text += tool.contains("strict") ? '1' : '0';
  EXPECT_EQ(wire.loosened_tools, text.find('0') != std::string::npos);
  return text;
}

TEST(AnthropicTools, StrictToolsStayWithinTheLimitsOfARequest) {
  EXPECT_EQ(strict_ones(std::vector<Json>(21, loose(1))), std::string(20, '1') + "0");
  EXPECT_EQ(strict_ones({loose(24), loose(1)}), "10");
  EXPECT_EQ(strict_ones({loose(25), loose(24)}), "01");
  EXPECT_EQ(strict_ones({loose(16, true), loose(1, true), loose(8)}), "101");
  EXPECT_EQ(strict_ones({loose(3), loose(2)}, loose(22)), "01") << "the format counts first";
}

TEST(AnthropicTools, ReferencesCountWhereTheyAre) {
  Json schema = {{"type", "object"},
                 {"properties", Json::object()},
                 {"additionalProperties", false},
                 {"required", Json::array()},
                 {"$defs", {{"D", loose(7)}}}};
  for (int i = 0; i < 4; ++i) {
    schema["properties"]["r" + std::to_string(i)] = {{"$ref", "#/$defs/D"}};
    schema["required"].push_back("r" + std::to_string(i));
    EXPECT_EQ(strict_ones({schema}), i < 3 ? "1" : "0") << i;
  }
}

TEST(AnthropicTools, AStrictToolWithoutArgumentsStaysStrict) {
  EXPECT_EQ(one_tool(R"({"type": "object", "properties": {}})", "", true), Json::parse(R"({"name": "f",
      "strict": true, "input_schema": {"type": "object", "properties": {}, "additionalProperties": false}})"));
}

TEST(AnthropicTools, ASchemaThatIsTooMuchToCountIsSentWithoutStrict) {
  const auto both = [](const std::string& reference) {
    return Json{{"type", "object"},
                {"properties", {{"l", {{"$ref", reference}}}, {"r", {{"$ref", reference}}}}},
                {"required", {"l", "r"}},
                {"additionalProperties", false}};
  };
  Json schema = both("#/$defs/d0");
  for (int i = 0; i < 14; ++i)
    schema["$defs"]["d" + std::to_string(i)] = both("#/$defs/d" + std::to_string(i + 1));
  schema["$defs"]["d14"] = {{"type", "string"}};
  schema["properties"]["o"] = loose(25);
  schema["required"].push_back("o");
  EXPECT_EQ(strict_ones({schema}), "0");
}

}  // namespace
}  // namespace millrace::providers::anthropic_tools_test
