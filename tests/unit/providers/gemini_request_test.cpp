#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "ai/providers/gemini/schema.h"
#include "ai/providers/schema_subset.h"
#include "tests/unit/providers/family_cases.h"

namespace millrace::providers::gemini_request_test {
namespace {

using schemas::Json;
using testing::dropped_of;
using testing::refused;
using testing::sent;
using testing::sent_of;
using testing::target_of;

const Target kFlash = target_of("gemini", "gemini-2.5-flash");
const Target kThree = target_of("gemini", "gemini-3-pro-preview");

Json config(const Target& target, const std::string& body) {
  return sent_of(target, body).value("generationConfig", Json());
}

TEST(GeminiRequest, APlainQuestionIsItsContents) {
  const WireRequest wire = sent(kFlash, "{}");
  EXPECT_EQ(wire.body, R"({"contents":[{"role":"user","parts":[{"text":"hello"}]}]})");
  EXPECT_EQ(wire.path, "/v1beta/models/gemini-2.5-flash:generateContent");
  EXPECT_TRUE(wire.dropped.empty());
}

TEST(GeminiRequest, ThePathNamesVersionModelAndManner) {
  EXPECT_EQ(sent(kFlash, "{}", true).path, "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse");
  EXPECT_EQ(sent(target_of("gemini", "m", "http://h/v1beta"), "{}").path, "/models/m:generateContent");
  EXPECT_EQ(sent(target_of("gemini", "m", "http://h/v1alpha"), "{}").path, "/models/m:generateContent");
  EXPECT_EQ(sent(target_of("gemini", "tunedModels/a b"), "{}").path,
            "/v1beta/tunedModels/a%20b:generateContent");
}

TEST(GeminiRequest, TheKeyGoesIntoItsOwnHeader) {
  EXPECT_EQ(translation(Family::kGemini).credential(base::Secret("k")).first, "x-goog-api-key");
}

TEST(GeminiRequest, SamplingAndLimitsAreTheGenerationConfig) {
  EXPECT_EQ(config(kFlash, R"({"temperature": 1.5, "top_p": 0.5, "top_k": 3, "max_completion_tokens": 9,
      "stop": ["a"], "seed": 7, "presence_penalty": 1, "frequency_penalty": -1, "logprobs": true,
      "top_logprobs": 2, "modalities": ["text", "audio"]})"),
            Json::parse(R"({"temperature": 1.5, "topP": 0.5, "topK": 3, "maxOutputTokens": 9,
      "stopSequences": ["a"], "seed": 7, "presencePenalty": 1, "frequencyPenalty": -1, "responseLogprobs": true,
      "logprobs": 2, "responseModalities": ["TEXT", "AUDIO"]})"));
}

TEST(GeminiRequest, TheCapHoldsAgainstTheClientsOwnConfig) {
  const auto sent_config = [](const Json& own) {
    auto capped = testing::request_of({{"max_completion_tokens", 50}, {"generation_config", own}});
    capped.cap_output = true;
    const WireRequest wire = translation(Family::kGemini).chat_request(kFlash, capped, false).value();
    EXPECT_EQ(1, wire.choices);
    return std::pair(Json::parse(wire.body)["generationConfig"], schemas::dropped_text(wire.dropped));
  };
  for (const char* name : {"maxOutputTokens", "max_output_tokens"}) {
    for (const Json& most : {Json(65'000), Json(-1), Json(0), Json("65000"), Json(1e9), Json()}) {
      const auto [config, dropped] = sent_config({{name, most}, {"topK", 3}});
      EXPECT_EQ(50, config["maxOutputTokens"]) << most;
      EXPECT_EQ(3, config["topK"]);
      EXPECT_EQ("generation_config;clamped", dropped) << most;
    }
    const auto [config, dropped] = sent_config({{name, 20}});
    EXPECT_EQ(20, config["maxOutputTokens"]);
    EXPECT_EQ("", dropped);
  }
  for (const char* name : {"candidateCount", "candidate_count"}) {
    const auto [config, dropped] = sent_config({{name, 8}});
    EXPECT_FALSE(config.contains("candidateCount"));
    EXPECT_EQ("generation_config;clamped", dropped);
  }
}

TEST(GeminiRequest, ASeedIsCutToThirtyTwoBits) {
  EXPECT_EQ(config(kFlash, R"({"seed": 99999999999})")["seed"], 2147483647);
  EXPECT_EQ(dropped_of(kFlash, R"({"seed": 99999999999})"), "seed;clamped");
}

TEST(GeminiRequest, FormatsAreATypeAndASchema) {
  EXPECT_EQ(config(kFlash, R"({"response_format": {"type": "json_object"}})"),
            Json::parse(R"({"responseMimeType": "application/json"})"));
  EXPECT_EQ(
      config(kFlash, R"({"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {
      "$schema": "s", "type": "object", "additionalProperties": false}}}})"),
      Json::parse(R"({"responseMimeType": "application/json",
      "responseJsonSchema": {"type": "object", "additionalProperties": false}})"));
  EXPECT_EQ(config(kFlash, R"({"response_format": {"type": "text"}})"), Json());
}

TEST(GeminiRequest, TheCallersOwnConfigOverrulesInEitherSpelling) {
  EXPECT_EQ(config(kFlash, R"({"temperature": 1, "max_completion_tokens": 9, "generation_config": {
      "max_output_tokens": 5, "thinking_config": {"thinking_budget": 3},
      "response_schema": {"properties": {"some_name": {}}}}})"),
            Json::parse(R"({"temperature": 1, "maxOutputTokens": 5, "thinkingConfig": {"thinkingBudget": 3},
      "responseSchema": {"properties": {"some_name": {}}}})"));
  EXPECT_EQ(config(kFlash, R"({"thinking": {"type": "enabled", "budget_tokens": 2000},
      "generation_config": {"thinkingConfig": {"thinkingLevel": "low"}}})")["thinkingConfig"],
            Json::parse(R"({"includeThoughts": true, "thinkingLevel": "low"})"));
}

TEST(GeminiRequest, SafetySettingsGoAsTheyAre) {
  EXPECT_EQ(
      sent_of(kFlash, R"({"safety_settings": [{"category": "c", "threshold": "t"}]})")["safetySettings"],
      Json::parse(R"([{"category": "c", "threshold": "t"}])"));
}

TEST(GeminiRequest, ThinkingIsABudgetToTwoPointFive) {
  const auto thinking = [](const std::string& model, const std::string& body) {
    return config(target_of("gemini", model), body)["thinkingConfig"];
  };
  EXPECT_EQ(thinking("gemini-2.5-flash", R"({"thinking": {"type": "enabled", "budget_tokens": 2000}})"),
            Json::parse(R"({"thinkingBudget": 2000, "includeThoughts": true})"));
  EXPECT_EQ(thinking("gemini-2.5-flash", R"({"thinking": {"type": "enabled"}})")["thinkingBudget"], -1);
  EXPECT_EQ(thinking("gemini-2.5-flash", R"({"thinking": {"type": "disabled"}})")["thinkingBudget"], 0);
  EXPECT_EQ(thinking("gemini-2.5-pro", R"({"thinking": {"type": "disabled"}})")["thinkingBudget"], 128);
  EXPECT_EQ(thinking("gemini-2.5-pro", R"({"reasoning_effort": "medium"})")["thinkingBudget"], 8192);
  const std::string large = R"({"thinking": {"type": "enabled", "budget_tokens": 90000}})";
  EXPECT_EQ(thinking("gemini-2.5-flash", large)["thinkingBudget"], 24'576);
  EXPECT_EQ(dropped_of(kFlash, large), "thinking;clamped");
  EXPECT_EQ(dropped_of(target_of("gemini", "gemini-2.0-flash"), large), "thinking");
}

TEST(GeminiRequest, ThinkingIsALevelToThree) {
  EXPECT_EQ(config(kThree, R"({"reasoning_effort": "high"})")["thinkingConfig"],
            Json::parse(R"({"thinkingLevel": "high", "includeThoughts": true})"));
  EXPECT_EQ(config(kThree, R"({"reasoning_effort": "medium"})")["thinkingConfig"]["thinkingLevel"], "high");
  EXPECT_EQ(dropped_of(kThree, R"({"reasoning_effort": "medium"})"), "reasoning_effort;clamped");
  EXPECT_EQ(dropped_of(kThree, R"({"reasoning_effort": "lots"})"), "reasoning_effort");
  EXPECT_EQ(
      config(
          target_of("gemini", "gemini-3-flash"),
          R"({"thinking": {"type": "enabled", "budget_tokens": 9000}})")["thinkingConfig"]["thinkingLevel"],
      "medium");
  EXPECT_EQ(dropped_of(kThree, R"({"thinking": {"type": "disabled"}})"), "thinking;clamped");
}

TEST(GeminiRequest, TheLowestLevelIsTheModels) {
  for (const auto& [model, level] :
       std::vector<std::pair<const char*, const char*>>{{"gemini-3-flash-preview", "minimal"},
                                                        {"gemini-3.6-flash", "minimal"},
                                                        {"gemini-3.7-flash", "low"},
                                                        {"gemini-3.8-flash", "low"},
                                                        {"gemini-3.5-flash-lite", "minimal"},
                                                        {"gemini-3.1-pro-preview", "low"}}) {
    const Target target = target_of("gemini", model);
    EXPECT_EQ(config(target, R"({"reasoning_effort": "minimal"})")["thinkingConfig"]["thinkingLevel"], level)
        << model;
    EXPECT_EQ(config(target, R"({"reasoning_effort": "none"})")["thinkingConfig"]["thinkingLevel"], level);
  }
}

TEST(GeminiRequest, AVoiceIsItsSpeechConfig) {
  EXPECT_EQ(
      config(kFlash, R"({"audio": {"voice": "Kore", "format": "pcm16"}})"),
      Json::parse(R"({"speechConfig": {"voiceConfig": {"prebuiltVoiceConfig": {"voiceName": "Kore"}}}})"));
}

TEST(GeminiRequest, SeveralAnswersAreEmulated) {
  schemas::ChatRequest request = testing::request_of(Json::object());
  request.n = 2;
  EXPECT_EQ(schemas::dropped_text(translation(Family::kGemini).chat_request(kFlash, request, false)->dropped),
            "n;emulated");
}

TEST(GeminiRequest, EveryParameterOfTheTableIsSentOrReported) {
  testing::expect_none_lost(kFlash);
  testing::expect_none_lost(kThree);
  testing::expect_none_lost(target_of("gemini", "gemini-1.5-flash"));
}

Json tools(const Target& target, const std::string& body) {
  return sent_of(target, body).value("tools", Json());
}
const std::string kTools = R"("tools": [{"type": "function", "function": {"name": "f", "description": "d",
    "parameters": {"$schema": "s", "type": "object", "properties": {"q": {"$ref": "#/$defs/Q"}},
    "required": ["q"], "additionalProperties": false, "$defs": {"Q": {"type": "string"}}}}},
    {"type": "function", "function": {"name": "g", "parameters": {"type": "object", "properties": {}}}}])";

TEST(GeminiTools, FunctionsAreDeclaredWithWhatGeminiReadsOfTheirSchemas) {
  EXPECT_EQ(tools(kFlash, "{" + kTools + "}"), Json::parse(R"([{"functionDeclarations": [
      {"name": "f", "description": "d", "parameters": {"type": "object", "properties": {"q": {"type": "string"}},
       "required": ["q"]}}, {"name": "g"}]}])"));
}

TEST(GeminiTools, EveryChoiceHasItsMode) {
  const auto choice = [](const std::string& form) {
    return sent_of(kFlash,
                   "{" + kTools + R"(, "tool_choice": )" + form + "}")["toolConfig"]["functionCallingConfig"];
  };
  EXPECT_EQ(choice(R"("auto")"), Json::parse(R"({"mode": "AUTO"})"));
  EXPECT_EQ(choice(R"("none")"), Json::parse(R"({"mode": "NONE"})"));
  EXPECT_EQ(choice(R"("required")"), Json::parse(R"({"mode": "ANY"})"));
  EXPECT_EQ(choice(R"({"type": "function", "function": {"name": "g"}})"),
            Json::parse(R"({"mode": "ANY", "allowedFunctionNames": ["g"]})"));
}

TEST(GeminiTools, TheCallersToolConfigOverrules) {
  EXPECT_EQ(sent_of(kFlash, "{" + kTools + R"(, "tool_choice": "auto",
      "tool_config": {"function_calling_config": {"mode": "ANY"}}})")["toolConfig"],
            Json::parse(R"({"functionCallingConfig": {"mode": "ANY"}})"));
}

TEST(GeminiTools, ASearchIsGooglesUnlessFunctionsForbidIt) {
  EXPECT_EQ(tools(kFlash, R"({"search_parameters": {"mode": "auto"}})"),
            Json::parse(R"([{"googleSearch": {}}])"));
  EXPECT_EQ(tools(kThree, "{" + kTools + R"(, "web_search_options": {}})").size(), 2U);
  EXPECT_EQ(dropped_of(kFlash, "{" + kTools + R"(, "web_search_options": {}})"), "web_search_options");
  EXPECT_EQ(tools(kFlash, R"({"search_parameters": {"mode": "off"}})"), Json());
}

TEST(GeminiTools, BeforeThreeAFormatIsWordsBesideFunctionsAndASearchGivesWayToIt) {
  const std::pair<std::string, std::string> table[] = {
      {R"({"type": "json_object"})", "response_format"},
      {R"({"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}}})",
       "response_format;clamped"}};
  for (const auto& [format, reported] : table) {
    const std::string both = "{" + kTools + R"(, "response_format": )" + format + "}";
    EXPECT_EQ(config(kFlash, both), Json());
    EXPECT_EQ(tools(kFlash, both).size(), 1U);
    EXPECT_EQ(dropped_of(kFlash, both), reported);
    EXPECT_EQ(config(kThree, both)["responseMimeType"], "application/json");
    EXPECT_EQ(dropped_of(kThree, both), "");

    const std::string search = R"({"web_search_options": {}, "response_format": )" + format + "}";
    EXPECT_EQ(config(kFlash, search)["responseMimeType"], "application/json");
    EXPECT_EQ(tools(kFlash, search), Json());
    EXPECT_EQ(dropped_of(kFlash, search), "web_search_options");
    EXPECT_EQ(tools(kThree, search).size(), 1U);
  }
  const std::string text = "{" + kTools + R"(, "response_format": {"type": "text"}})";
  EXPECT_EQ(dropped_of(kFlash, text), "");
}

TEST(GeminiTools, BeforeThreeASchemaBesideFunctionsIsBehindTheCallersSystemPrompt) {
  const std::string format = kTools + R"(, "response_format": {"type": "json_schema", "json_schema":
      {"name": "n", "schema": {"type": "integer"}}})";
  const auto instruction = [](const std::string& body) { return sent_of(kFlash, body)["systemInstruction"]; };
  EXPECT_EQ(instruction("{" + format + "}"),
            (Json{{"parts", {{{"text", format_in_words({{"type", "integer"}})}}}}}));
  const Json both = instruction("{" + format + R"(, "messages": [{"role": "system", "content": "Be brief."},
      {"role": "user", "content": "hello"}]})");
  ASSERT_EQ(both["parts"].size(), 2U);
  EXPECT_EQ(both["parts"][0]["text"], "Be brief.");
}

// A property with the schema, which may refer to it as the root's property p.
Json trimmed(const char* schema) {
  return gemini_parameters(
      {{"type", "object"}, {"properties", {{"p", Json::parse(schema)}}}})["properties"]["p"];
}

TEST(GeminiSchema, UnionsWithNullAreNullable) {
  EXPECT_EQ(trimmed(R"({"type": ["string", "null"]})"),
            Json::parse(R"({"type": "string", "nullable": true})"));
  EXPECT_EQ(trimmed(R"({"anyOf": [{"type": "integer"}, {"type": "null"}]})"),
            Json::parse(R"({"type": "integer", "nullable": true})"));
  EXPECT_EQ(trimmed(R"({"oneOf": [{"type": "integer"}, {"type": "string"}]})"),
            Json::parse(R"({"anyOf": [{"type": "integer"}, {"type": "string"}]})"));
}

TEST(GeminiSchema, ValuesOfStringsStayAndOthersAreWords) {
  EXPECT_EQ(trimmed(R"({"const": "a"})"), Json::parse(R"({"type": "string", "enum": ["a"]})"));
  EXPECT_EQ(trimmed(R"({"type": "integer", "enum": [1, 2]})"),
            Json::parse(R"({"type": "integer", "description": "One of [1,2]."})"));
}

TEST(GeminiSchema, AllOfIsOneObject) {
  EXPECT_EQ(
      trimmed(R"({"allOf": [{"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
      {"properties": {"b": {"type": "number"}}, "required": ["b"]}]})"),
      Json::parse(R"({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "number"}},
      "required": ["a", "b"], "propertyOrdering": ["a", "b"]})"));
}

TEST(GeminiSchema, CirclesEndAsObjectsAndUnknownReferencesAsAnyValue) {
  EXPECT_EQ(trimmed(R"({"type": "object", "properties": {"next": {"$ref": "#/properties/p"}}})"),
            Json::parse(R"({"type": "object", "properties": {"next": {"type": "object",
      "properties": {"next": {"type": "object"}}}}})"));
  for (const char* lost : {"https://h/other.json", "#/$defs/none", "#name", "other", "#/properties/p/x"})
    EXPECT_EQ(trimmed(Json{{"$ref", lost}}.dump().c_str()), trimmed("true")) << lost;
}

TEST(GeminiSchema, WhatGrowsByReferencesIsBounded) {
  Json root = {{"type", "object"}, {"properties", {{"a", {{"$ref", "#/$defs/d0"}}}}}};
  for (int i = 0; i < 12; ++i) {
    Json& properties = root["$defs"]["d" + std::to_string(i)]["properties"];
    for (int to = 0; to < 12; ++to)
      properties["p" + std::to_string(to)] = {{"$ref", "#/$defs/d" + std::to_string(to)}};
    properties["text"] = {{"type", "string"}};
  }
  root["properties"]["last"] = {{"type", "integer"}};
  const Json wide = gemini_parameters(root);
  EXPECT_LT(wide.dump().size(), 1'000'000U);
  EXPECT_EQ(wide["properties"]["last"], Json::parse(R"({"type": "integer"})"));
}

TEST(GeminiSchema, KeywordsOfOtherTypesAreLeftOut) {
  EXPECT_EQ(
      trimmed(R"({"type": "string", "items": {"type": "string"}, "properties": {"a": {}}, "minimum": 1})"),
      Json::parse(R"({"type": "string"})"));
  EXPECT_EQ(trimmed(R"({"type": "integer", "minLength": 1, "format": "date-time", "maximum": 3})"),
            Json::parse(R"({"type": "integer", "maximum": 3})"));
  EXPECT_EQ(
      trimmed(
          R"({"type": ["string", "array"], "items": {"type": "string"}, "minLength": 2, "description": "d"})"),
      Json::parse(R"({"anyOf": [{"type": "string", "minLength": 2, "description": "d"},
      {"type": "array", "items": {"type": "string"}, "description": "d"}]})"));
  EXPECT_EQ(
      trimmed(R"({"type": ["integer", "string", "null"], "maximum": 3})"),
      Json::parse(R"({"anyOf": [{"type": "integer", "maximum": 3, "nullable": true}, {"type": "string"}]})"));
}

TEST(GeminiSchema, EmptyTextsLeaveAnEnum) {
  EXPECT_EQ(trimmed(R"({"type": "string", "enum": ["a", "", null]})"),
            Json::parse(R"({"type": "string", "enum": ["a"], "nullable": true})"));
  EXPECT_EQ(trimmed(R"({"enum": [""]})"), Json::parse(R"({"type": "string"})"));
  EXPECT_EQ(trimmed(R"({"enum": ["a", 1, true]})"), Json::parse(R"({"anyOf": [{"type": "boolean"},
      {"type": "string", "enum": ["a"]}, {"type": "integer", "description": "One of [1]."}]})"));
}

TEST(GeminiSchema, AlternativesOfAnObjectAreObjects) {
  EXPECT_EQ(trimmed(R"({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
      "anyOf": [{"required": ["a"]}, {"required": ["b"]}]})"),
            Json::parse(R"({"anyOf": [
      {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "required": ["a"],
       "propertyOrdering": ["a", "b"]},
      {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "required": ["b"],
       "propertyOrdering": ["a", "b"]}]})"));
}

TEST(GeminiSchema, ATupleIsAListOfWhatItsItemsMayBe) {
  EXPECT_EQ(
      trimmed(
          R"({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": false})"),
      Json::parse(R"({"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "integer"}]}})"));
  EXPECT_EQ(trimmed(R"({"type": "array", "items": [{"type": "string"}], "maxItems": 1})"),
            Json::parse(R"({"type": "array", "items": {"type": "string"}, "maxItems": 1})"));
}

TEST(GeminiSchema, WhatIsNoSchemaIsAnyValue) {
  const Json any = trimmed("{}");
  EXPECT_EQ(any["anyOf"].size(), 5U);
  for (const char* each : {"true", "null", "3", R"("text")", "[]", R"({"type": "any"})", R"({"type": 3})"})
    EXPECT_EQ(trimmed(each), any) << each;
}

TEST(GeminiTools, AUnionAtTheRootIsOneObject) {
  const char* body = R"({"tools": [{"type": "function", "function": {"name": "f", "parameters": {"oneOf": [
      {"type": "object", "properties": {"kind": {"const": "a"}, "x": {"type": "string"}}, "required": ["kind", "x"]},
      {"type": "object", "properties": {"kind": {"const": "b"}, "y": {"type": "string"}}, "required": ["kind"]}]}}}]})";
  EXPECT_EQ(tools(kFlash, body)[0]["functionDeclarations"][0]["parameters"],
            Json::parse(R"({"type": "object", "properties": {"kind": {"type": "string", "enum": ["a", "b"]},
      "x": {"type": "string"}, "y": {"type": "string"}}, "required": ["kind"],
      "propertyOrdering": ["kind", "x", "y"]})"));
  EXPECT_EQ(dropped_of(kFlash, body), "tools;clamped");
}

Json answer_schema(const std::string& schema, const std::string& reported) {
  const std::string body =
      R"({"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": )" + schema +
      "}}}";
  EXPECT_EQ(dropped_of(kFlash, body), reported) << schema;
  return config(kFlash, body)["responseJsonSchema"];
}

TEST(GeminiAnswer, OnlyDocumentedKeywordsAreSent) {
  EXPECT_EQ(answer_schema(R"({"type": "object", "title": "T", "$comment": "c", "properties": {
      "a": {"type": "integer", "minimum": 1, "exclusiveMaximum": 9, "multipleOf": 2, "description": "d"},
      "b": {"type": "string", "minLength": 1, "pattern": "^a"}, "c": {"const": "x"}}})",
                          "response_format;clamped"),
            Json::parse(R"({"type": "object", "title": "T", "properties": {
      "a": {"type": "integer", "minimum": 1, "description": "d. Must be less than 9, a multiple of 2."},
      "b": {"type": "string", "description": "Must be at least 1 characters long, matching ^a."},
      "c": {"enum": ["x"]}}, "propertyOrdering": ["a", "b", "c"]})"));
}

TEST(GeminiAnswer, NothingIsBesideAReference) {
  EXPECT_EQ(answer_schema(
                R"({"type": "object", "properties": {"a": {"$ref": "#/definitions/A", "description": "d"}},
      "definitions": {"A": {"type": ["string", "null"]}}})",
                ""),
            Json::parse(R"({"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}},
      "$defs": {"A": {"type": ["string", "null"]}}})"));
}

TEST(GeminiAnswer, ACycleIsInOptionalPropertiesOnly) {
  EXPECT_EQ(
      answer_schema(R"({"$ref": "#/$defs/N", "$defs": {"N": {"type": "object", "required": ["v", "next"],
      "properties": {"v": {"type": "string"}, "next": {"anyOf": [{"$ref": "#/$defs/N"}, {"type": "null"}]}}}}})",
                    "response_format;clamped")["$defs"]["N"]["required"],
      Json({"v"}));
}

TEST(GeminiAnswer, NullLeavesAnEnum) {
  EXPECT_EQ(
      answer_schema(
          R"({"type": "object", "properties": {"a": {"type": ["string", "null"], "enum": ["x", null]}}})",
          "")["properties"]["a"],
      Json::parse(R"({"anyOf": [{"type": ["string"], "enum": ["x"]}, {"type": "null"}]})"));
}

}  // namespace
}  // namespace millrace::providers::gemini_request_test
