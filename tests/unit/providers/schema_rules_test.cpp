#include "tests/support/schema_rules.h"

#include <cstdlib>

#include <gtest/gtest.h>

#include "tests/support/random_schema.h"
#include "tests/unit/providers/family_cases.h"

// Random schemas, as each provider gets them: within its published rules, and only loosened. MILLRACE_SCHEMAS
// sets the number of schemas.
namespace millrace::providers::schema_rules_test {
namespace {

using schemas::Json;
using support::RandomSchema;
using support::SchemaPlace;
using testing::target_of;

constexpr std::uint64_t kSchemas = 500;
constexpr int kValues = 4;  // of each schema

std::uint64_t schema_count() {
  const char* given = std::getenv("MILLRACE_SCHEMAS");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : kSchemas;
}

struct Place {
  const char* name;
  SchemaPlace rules;
  const char* provider;
  const char* model;
  bool is_answer;  // response_format, not a tool
  bool is_strict;
  const char* pointer;  // where the schema is in the provider's request
};

void PrintTo(const Place& place, std::ostream* out) { *out << place.name; }

constexpr const char* kInput = "/tools/0/input_schema";
constexpr const char* kParameters = "/tools/0/functionDeclarations/0/parameters";
constexpr const char* kFunction = "/tools/0/function/parameters";
constexpr const char* kFormat = "/response_format/json_schema/schema";
const Place kPlaces[] = {
    {"OpenaiTool", SchemaPlace::kOpenaiTool, "openai", "gpt-4o", false, false, kFunction},
    {"OpenaiStrictTool", SchemaPlace::kOpenaiStrict, "openai", "gpt-4o", false, true, kFunction},
    {"OpenaiStrictAnswer", SchemaPlace::kOpenaiStrict, "openai", "gpt-4o", true, true, kFormat},
    {"AzureStrictTool", SchemaPlace::kOpenaiStrict, "azure", "gpt-4o", false, true, kFunction},
    {"AzureStrictAnswer", SchemaPlace::kOpenaiStrict, "azure", "gpt-4o", true, true, kFormat},
    {"GroqStrictTool", SchemaPlace::kOpenaiStrict, "groq", "openai/gpt-oss-20b", false, true, kFunction},
    {"GroqStrictAnswer", SchemaPlace::kOpenaiStrict, "groq", "openai/gpt-oss-20b", true, true, kFormat},
    {"XaiTool", SchemaPlace::kXai, "xai", "grok-4.6", false, false, kFunction},
    {"XaiAnswer", SchemaPlace::kXai, "xai", "grok-4.6", true, true, kFormat},
    {"AnthropicTool", SchemaPlace::kAnthropicTool, "anthropic", "claude-sonnet-4-5", false, false, kInput},
    {"AnthropicOldTool", SchemaPlace::kAnthropicTool, "anthropic", "claude-3-haiku", false, true, kInput},
    {"AnthropicStrictTool", SchemaPlace::kAnthropicStrict, "anthropic", "claude-sonnet-4-5", false, true,
     kInput},
    {"AnthropicAnswer", SchemaPlace::kAnthropicStrict, "anthropic", "claude-sonnet-4-5", true, false,
     "/output_config/format/schema"},
    {"GeminiTool", SchemaPlace::kGeminiTool, "gemini", "gemini-2.5-flash", false, false, kParameters},
    {"GeminiThreeTool", SchemaPlace::kGeminiTool, "gemini", "gemini-3-pro", false, true, kParameters},
    {"GeminiAnswer", SchemaPlace::kGeminiAnswer, "gemini", "gemini-2.5-flash", true, false,
     "/generationConfig/responseJsonSchema"},
};

std::string body_with(const Place& place, const Json& schema) {
  if (place.is_answer) {
    Json format = {{"name", "n"}, {"schema", schema}};
    if (place.is_strict) format["strict"] = true;
    return Json{{"response_format", {{"type", "json_schema"}, {"json_schema", std::move(format)}}}}.dump();
  }
  Json function = {{"name", "f"}, {"parameters", schema}};
  if (place.is_strict) function["strict"] = true;
  return Json{{"tools", Json::array({{{"type", "function"}, {"function", std::move(function)}}})}}.dump();
}

// What OpenAI's clients send with `strict`: closed objects that require all their members.
void close(Json& schema) {
  if (schema.is_array()) {
    for (Json& each : schema) close(each);
  }
  if (!schema.is_object()) return;
  for (auto& [name, value] : schema.items()) close(value);
  if (schema.value("type", Json()) != Json("object")) return;
  for (const char* word : {"anyOf", "oneOf", "allOf", "patternProperties"}) schema.erase(word);
  schema["additionalProperties"] = false;
  schema["required"] = Json::array();
  if (!schema.contains("properties") || !schema["properties"].is_object()) return;
  for (const auto& [name, value] : schema["properties"].items()) schema["required"].push_back(name);
}

// Whether the provider got the schema with `strict`.
bool is_sent_strict(const Place& place, const Json& wire) {
  if (place.rules == SchemaPlace::kAnthropicStrict)
    return place.is_answer || wire["tools"][0].contains("strict");
  const Json& holder =
      place.is_answer ? wire["response_format"]["json_schema"] : wire["tools"][0]["function"];
  return holder["strict"] == true;
}

// Gemini rejects empty texts in `enum`, so they leave it. Strict schemas close each object.
bool is_excepted(SchemaPlace rules, const std::string& value) {
  if (rules == SchemaPlace::kGeminiTool) return value.find("\"\"") != std::string::npos;
  if (rules != SchemaPlace::kAnthropicStrict && rules != SchemaPlace::kOpenaiStrict) return false;
  for (const char* name : {"\"nowhere\"", "\"any\"", "\"more\""}) {
    if (value.find(name) != std::string::npos) return true;
  }
  return false;
}

// Gemini gets other names for two of the members of RandomSchema.
Json as_sent(SchemaPlace rules, const Json& value) {
  std::string text = value.dump();
  if (rules != SchemaPlace::kGeminiTool) return value;
  for (const auto& [given, sent] : {std::pair("filter-by", "filter_by"), std::pair("data.id", "data_id")}) {
    for (std::size_t at = 0; (at = text.find(given, at)) != std::string::npos;)
      text.replace(at, std::string_view(given).size(), sent);
  }
  return Json::parse(text);
}

class SchemaRules : public ::testing::TestWithParam<Place> {};

TEST_P(SchemaRules, NothingForbiddenIsSentAndOnlyLoosened) {
  const Place& place = GetParam();
  const Target target = target_of(place.provider, place.model);
  const bool may_be_strict =
      place.rules == SchemaPlace::kAnthropicStrict || place.rules == SchemaPlace::kOpenaiStrict;
  std::uint64_t schemas = 0, values = 0, strict = 0;
  for (std::uint64_t seed = 0; seed < schema_count(); ++seed) {
    RandomSchema random(seed);
    Json schema = place.is_answer ? random.answer() : random.tool();
    if (place.rules == SchemaPlace::kOpenaiStrict && seed % 2 == 0) close(schema);
    const Json wire = testing::sent_of(target, body_with(place, schema));
    const Json::json_pointer pointer(place.pointer);
    if (!wire.contains(pointer)) continue;
    const Json& sent = wire[pointer];
    // A strict schema that the provider cannot take is sent without `strict`.
    const bool is_loose = may_be_strict && !is_sent_strict(place, wire);
    if (is_loose && place.is_answer) continue;
    strict += may_be_strict && !is_loose ? 1 : 0;
    const SchemaPlace rules = !is_loose                                   ? place.rules
                              : place.rules == SchemaPlace::kOpenaiStrict ? SchemaPlace::kOpenaiTool
                                                                          : SchemaPlace::kAnthropicTool;
    ++schemas;
    EXPECT_EQ("", support::forbidden(rules, sent))
        << "seed " << seed << "\ngiven " << schema << "\nsent " << sent;
    for (int i = 0; i < kValues; ++i) {
      const auto value = random.value(schema);
      const bool is_object = value && (place.is_answer || value->is_object());
      if (!is_object || is_excepted(rules, value->dump())) continue;
      ++values;
      EXPECT_TRUE(support::fits(sent, as_sent(rules, *value)))
          << "seed " << seed << "\ngiven " << schema << "\nsent " << sent << "\nvalue " << *value;
    }
    if (HasFailure()) return;
  }
  const bool is_rare = place.rules == SchemaPlace::kOpenaiStrict;
  EXPECT_GE(schemas, schema_count() / (is_rare ? 20 : 5));
  EXPECT_GE(values, schemas / (is_rare ? 2 : 1));
  EXPECT_GE(strict, may_be_strict ? schema_count() / 5 : 0) << "schemas that stay strict";
}

INSTANTIATE_TEST_SUITE_P(Places, SchemaRules, ::testing::ValuesIn(kPlaces),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace millrace::providers::schema_rules_test
