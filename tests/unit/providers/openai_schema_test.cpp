#include <gtest/gtest.h>

#include "ai/providers/openai/schema.h"
#include "tests/unit/providers/family_cases.h"

// Schemas and their names as the dialects of OpenAI's protocol get them. schema_rules_test tries random ones.
namespace millrace::providers::openai_schema_test {
namespace {

using schemas::Json;
using testing::target_of;

Json object(const Json& properties) {
  Json made = {{"type", "object"}, {"properties", properties}, {"required", Json::array()}};
  for (const auto& [name, value] : properties.items()) made["required"].push_back(name);
  made["additionalProperties"] = false;
  return made;
}

WireRequest with_tool(const char* provider, const Json& parameters, bool is_strict = true) {
  Json function = {{"name", "f"}, {"parameters", parameters}};
  if (is_strict) function["strict"] = true;
  return testing::sent(target_of(provider, "m"),
                       Json{{"tools", {{{"type", "function"}, {"function", function}}}}}.dump());
}
WireRequest with_format(const char* provider, const Json& json_schema) {
  return testing::sent(
      target_of(provider, "m"),
      Json{{"response_format", {{"type", "json_schema"}, {"json_schema", json_schema}}}}.dump());
}
Json function_of(const WireRequest& wire) { return Json::parse(wire.body)["tools"][0]["function"]; }
Json format_of(const WireRequest& wire) { return Json::parse(wire.body)["response_format"]["json_schema"]; }
std::string reported(const WireRequest& wire) { return schemas::dropped_text(wire.dropped); }

const Json kGood = object({{"b", {{"type", "string"}, {"pattern", "^x"}}},
                           {"a", {{"type", Json({"integer", "null"})}, {"minimum", 1}}},
                           {"c", object({{"self", {{"$ref", "#"}}}})}});

TEST(OpenaiSchema, AStrictSchemaWithinTheRulesIsSentAsItCame) {
  for (const char* provider : {"openai", "azure", "groq"}) {
    const WireRequest tool = with_tool(provider, kGood);
    EXPECT_EQ(function_of(tool)["parameters"].dump(), kGood.dump()) << provider;
    EXPECT_EQ(function_of(tool)["strict"], true);
    EXPECT_FALSE(tool.loosened_tools);
    EXPECT_EQ(reported(tool), "");
    const Json format = {{"name", "n"}, {"strict", true}, {"schema", kGood}};
    EXPECT_EQ(format_of(with_format(provider, format)).dump(), format.dump()) << provider;
  }
}

TEST(OpenaiSchema, WhatStrictModeRefusesIsInWordsAndChecked) {
  const Json given =
      object({{"a", {{"type", "string"}, {"minLength", 2}, {"format", "uri"}, {"default", "x"}}}});
  for (const char* provider : {"openai", "azure", "groq"}) {
    const WireRequest tool = with_tool(provider, given);
    EXPECT_EQ(function_of(tool)["strict"], true) << provider;
    EXPECT_EQ(function_of(tool)["parameters"]["properties"]["a"], Json::parse(R"({"type": "string",
                  "description": "Must be at least 2 characters long, of the format uri."})"));
    EXPECT_TRUE(tool.loosened_tools);
    EXPECT_EQ(reported(tool), "tools;clamped");
    const WireRequest format = with_format(provider, {{"name", "n"}, {"strict", true}, {"schema", given}});
    EXPECT_EQ(format_of(format)["strict"], true);
    EXPECT_EQ(reported(format), "response_format;clamped");
  }
}

// Nested objects of this depth.
Json nested(int levels) {
  Json made = {{"type", "string"}};
  for (int i = 0; i < levels; ++i) made = object({{"a", made}});
  return made;
}
Json wide(int properties) {
  Json members = Json::object();
  for (int i = 0; i < properties; ++i) members["p" + std::to_string(i)] = {{"type", "null"}};
  return object(members);
}
Json listing(int values, std::size_t size) {
  Json listed = Json::array();
  for (int i = 0; i < values; ++i) listed.push_back(std::string(size, 'x') + std::to_string(1000 + i));
  return object({{"a", {{"type", "string"}, {"enum", listed}}}});
}

TEST(OpenaiSchema, TheBoundsOfStrictModeHold) {
  for (const auto& [schema, fits] :
       {std::pair(nested(10), true), std::pair(nested(11), false), std::pair(wide(5'000), true),
        std::pair(wide(5'001), false), std::pair(listing(1'000, 11), true),
        std::pair(listing(1'001, 0), false), std::pair(listing(251, 60), false),
        std::pair(listing(250, 60), true), std::pair(listing(200, 700), false)})
    EXPECT_EQ(openai_strict_schema(schema).has_value(), fits) << schema.dump().substr(0, 80);
}

TEST(OpenaiSchema, WhatStrictModeCannotExpressIsSentWithoutIt) {
  Json optional = object({{"a", {{"type", "string"}}}});
  optional["required"] = Json::array();
  const Json open = object({{"a", {{"type", "object"}}}}), any = object({{"a", Json::object()}});
  for (const Json& given : {optional, open, any, nested(11)}) {
    const WireRequest tool = with_tool("openai", given);
    EXPECT_EQ(function_of(tool)["strict"], false);
    EXPECT_EQ(function_of(tool)["parameters"], given);
    EXPECT_TRUE(tool.loosened_tools);
    EXPECT_EQ(reported(tool), "tools;clamped");
    const Json format = format_of(with_format("groq", {{"name", "n"}, {"strict", true}, {"schema", given}}));
    EXPECT_EQ(format["strict"], false);
    EXPECT_EQ(format["schema"], given);
    EXPECT_FALSE(with_tool("openai", given, false).loosened_tools) << "strict was not set";
    for (const char* provider : {"mistral", "ollama", "vllm", "openrouter"})
      EXPECT_EQ(function_of(with_tool(provider, given))["parameters"], given) << provider;
  }
}

// A strict schema whose member `a` refers to a place of `more` that strict mode leaves out or renames.
Json referring(const std::string& reference, const Json& more) {
  Json made = object({{"a", {{"$ref", reference}}}});
  made.update(more);
  return made;
}
const Json kText = {{"type", "string"}};

TEST(OpenaiSchema, WhatAReferenceLeadsToIsSentAsADefinition) {
  Json in_union = object({{"x", {{"oneOf", Json::array({kText, {{"type", "null"}}})}}},
                          {"a", {{"$ref", "#/properties/x/oneOf/0"}}}});
  Json in_all =
      object({{"x", {{"allOf", Json::array({kText})}}}, {"a", {{"$ref", "#/properties/x/allOf/0"}}}});
  Json nested = object({{"x", {{"type", "string"}, {"definitions", {{"A", kText}}}}},
                        {"a", {{"$ref", "#/properties/x/definitions/A"}}}});
  for (const Json& given :
       {referring("#/components/schemas/A", {{"components", {{"schemas", {{"A", kText}}}}}}),
        referring("#/definitions/A", {{"definitions", {{"A", kText}}}}), in_union, in_all, nested}) {
    for (const char* provider : {"openai", "groq"}) {
      const WireRequest wire = with_tool(provider, given);
      const Json sent = function_of(wire)["parameters"];
      const std::string reference = sent["properties"]["a"]["$ref"];
      ASSERT_TRUE(reference.starts_with("#/$defs/")) << reference;
      EXPECT_EQ(sent.at(Json::json_pointer(reference.substr(1))), kText) << sent;
      EXPECT_EQ(function_of(wire)["strict"], true);
      EXPECT_FALSE(wire.loosened_tools);
      EXPECT_EQ(reported(wire), "");
    }
  }
}

TEST(OpenaiSchema, DefinitionsOfTheSameNameStayApart) {
  Json given = object({{"a", {{"$ref", "#/$defs/A"}}}, {"b", {{"$ref", "#/definitions/A"}}}});
  given["$defs"]["A"] = kText;
  given["definitions"]["A"] = {{"type", "integer"}};
  const Json sent = function_of(with_tool("openai", given))["parameters"];
  EXPECT_EQ(sent["properties"]["b"]["$ref"], "#/$defs/A_2");
  EXPECT_EQ(sent["$defs"], Json({{"A", kText}, {"A_2", {{"type", "integer"}}}}));
}

TEST(OpenaiSchema, AStrictSchemaThatRefersToTooMuchIsSentWithoutStrict) {
  Json large = {{"type", "string"}, {"description", std::string(5 << 20, 'x')}};
  const WireRequest wire = with_tool("openai", referring("#/components/A", {{"components", {{"A", large}}}}));
  EXPECT_EQ(function_of(wire)["strict"], false);
  EXPECT_TRUE(wire.loosened_tools);
  EXPECT_EQ(reported(wire), "tools;clamped");
}

TEST(OpenaiSchema, ListedValuesGetTheirTypes) {
  for (const auto& [values, types] :
       {std::pair(R"({"enum": ["a", "b"]})", R"("string")"), std::pair(R"({"const": 4})", R"("integer")"),
        std::pair(R"({"enum": [1, 2.5]})", R"("number")"), std::pair(R"({"enum": [true]})", R"("boolean")"),
        std::pair(R"({"enum": ["a", 1, null]})", R"(["string", "integer", "null"])")}) {
    const WireRequest wire = with_tool("openai", object({{"a", Json::parse(values)}}));
    Json expected = Json::parse(values);
    expected["type"] = Json::parse(types);
    EXPECT_EQ(function_of(wire)["parameters"]["properties"]["a"], expected);
    EXPECT_EQ(function_of(wire)["strict"], true);
    EXPECT_FALSE(wire.loosened_tools);
  }
}

TEST(OpenaiSchema, AStrictToolWithoutArgumentsStaysStrict) {
  const Json none =
      Json::parse(R"({"type": "object", "properties": {}, "additionalProperties": false, "required": []})");
  for (const char* function : {R"({"name": "f", "strict": true})",
                               R"({"name": "f", "strict": true, "parameters": {"properties": {}}})"}) {
    Json tool = {{"type", "function"}, {"function", Json::parse(function)}};
    for (const char* provider : {"openai", "groq"}) {
      const WireRequest wire =
          testing::sent(target_of(provider, "m"), Json{{"tools", Json::array({tool})}}.dump());
      EXPECT_EQ(function_of(wire)["parameters"], none) << function;
      EXPECT_EQ(function_of(wire)["strict"], true);
      EXPECT_FALSE(wire.loosened_tools);
      EXPECT_EQ(reported(wire), "");
    }
  }
  EXPECT_EQ(function_of(with_tool("openai", {{"type", "object"}}))["strict"], false) << "any arguments";
}

TEST(OpenaiSchema, APatternThatLooksAroundIsInWords) {
  const WireRequest wire = with_tool("openai", object({{"a", {{"type", "string"}, {"pattern", "^(?!x)y"}}}}));
  EXPECT_EQ(function_of(wire)["parameters"]["properties"]["a"],
            Json({{"type", "string"}, {"description", "Must be matching ^(?!x)y."}}));
  EXPECT_TRUE(wire.loosened_tools);
}

TEST(OpenaiSchema, XaiGetsNoCyclesOfReferencesToAnyPlace) {
  const Json given = Json::parse(R"({"type": "object", "properties": {"n": {"$ref": "#/components/N"}},
      "components": {"N": {"type": "object", "properties": {
          "next": {"$ref": "#/components/N"}, "any": true,
          "some": {"type": "array", "items": true, "contains": {"type": "string"}, "minContains": 2}}}}})");
  const WireRequest wire = with_tool("xai", given);
  EXPECT_EQ(function_of(wire)["parameters"],
            Json::parse(R"({"type": "object", "properties": {"n": {"$ref": "#/$defs/N"}},
      "$defs": {"N": {"type": "object", "properties": {
          "next": {}, "any": {}, "some": {"type": "array", "contains": {"type": "string"}}}}}})"));
  EXPECT_EQ(reported(wire), "tools;clamped");
}

TEST(OpenaiSchema, XaiGetsNothingThatItRejects) {
  const Json given = Json::parse(R"({"type": "object", "properties": {
      "any": true, "never": false, "free": {"type": "object"}, "none": {"enum": []},
      "pair": {"type": "array", "items": [{"type": "string"}, {"type": "integer"}]},
      "some": {"type": "array", "contains": {"type": "string"}, "minContains": 2},
      "node": {"$ref": "#/$defs/N"}},
      "$defs": {"N": {"type": "object", "properties": {"next": {"$ref": "#/$defs/N"}}}}})");
  const Json expected = Json::parse(R"({"type": "object", "properties": {
      "any": {}, "free": {"type": "object", "additionalProperties": true}, "none": {},
      "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]},
      "some": {"type": "array", "contains": {"type": "string"}},
      "node": {"$ref": "#/$defs/N"}},
      "$defs": {"N": {"type": "object", "properties": {"next": {}}}}})");
  const WireRequest tool = with_tool("xai", given);
  EXPECT_EQ(function_of(tool)["parameters"], expected);
  EXPECT_TRUE(tool.loosened_tools);
  EXPECT_EQ(reported(tool), "tools;clamped");
  EXPECT_EQ(format_of(with_format("xai", {{"name", "n"}, {"schema", given}}))["schema"], expected);
  const Json fine =
      Json::parse(R"({"type": "object", "properties": {"a": {"minLength": 3, "type": "string"}}})");
  EXPECT_EQ(function_of(with_tool("xai", fine))["parameters"].dump(), fine.dump());
  EXPECT_EQ(reported(with_tool("xai", fine)), "");
}

TEST(OpenaiSchema, AChainOfReferencesIsNoCycleUntilItIsTooLong) {
  Json schema = {{"$ref", "#/$defs/d0"}, {"$defs", Json::object()}};
  for (int i = 0; i < 5'000; ++i)
    schema["$defs"]["d" + std::to_string(i)] = {{"$ref", "#/$defs/d" + std::to_string(i + 1)}};
  schema["$defs"]["d5000"] = {{"type", "string"}};
  EXPECT_TRUE(xai_schema(schema).is_loosened) << "beyond the depth that is followed";
}

TEST(OpenaiSchema, NamesOfFormatsFitAsNamesOfToolsDo) {
  const Json given = {{"name", "Größe der Mühle"}, {"schema", object({{"a", {{"type", "string"}}}})}};
  for (const char* provider : {"openai", "azure", "xai", "mistral", "groq"}) {
    const WireRequest wire = with_format(provider, given);
    EXPECT_EQ(format_of(wire)["name"], "Gr__e_der_M_hle") << provider;
    EXPECT_EQ(reported(wire), "response_format.json_schema.name;clamped") << provider;
    Json cut = given;
    cut["name"] = std::string(90, 'n');
    EXPECT_EQ(format_of(with_format(provider, cut))["name"], std::string(64, 'n'));
    cut["name"] = "";
    EXPECT_EQ(format_of(with_format(provider, cut))["name"], "");
  }
  EXPECT_EQ(format_of(with_format("vllm", given))["name"], given["name"]);
}

TEST(OpenaiSchema, OddFormsAreSentAsTheyCame) {
  for (const char* odd : {R"({"type":"json_schema"})", R"({"type":"json_schema","json_schema":3})",
                          R"({"type":"json_schema","json_schema":{"name":4,"schema":[],"strict":true}})",
                          R"({"type":"json_object"})", R"("json")", R"([1])"}) {
    for (const char* provider : {"openai", "xai", "groq"}) {
      const Json wire =
          testing::sent_of(target_of(provider, "m"), R"({"response_format":)" + std::string(odd) + "}");
      EXPECT_EQ(wire["response_format"].dump(), odd) << provider;
    }
  }
}

TEST(OpenaiSchema, DemandsThatCannotBeMergedAreChecked) {
  const auto with = [](const char* schema) { return object({{"a", Json::parse(schema)}}); };
  for (
      const char* lossy :
      {R"({"allOf":[{"type":"string","pattern":"^a"},{"pattern":"b$"}]})",
       R"({"type":"string","pattern":"^a","allOf":[{"pattern":"b$"}]})",
       R"({"allOf":[{"type":"string","pattern":"^a"}],"pattern":"b$"})",
       R"({"type":"integer","allOf":[{"minimum":1},{"minimum":2}]})",
       R"({"allOf":[{"anyOf":[{"type":"string"},{"type":"integer"}]},{"anyOf":[{"type":"string"},{"type":"null"}]}]})",
       R"({"allOf":[{"type":"string","enum":["a"]},{"enum":["b"]}]})",
       R"({"type":"string","pattern":"^a","anyOf":[{"type":"string","pattern":"b$"},{"type":"string"}]})",
       R"({"allOf":[{"type":"string"},{"$ref":"https://elsewhere.example/s"}]})"}) {
    const WireRequest tool = with_tool("openai", with(lossy));
    EXPECT_TRUE(tool.loosened_tools) << lossy;
    EXPECT_EQ(reported(tool), "tools;clamped") << lossy;
    const WireRequest answer =
        with_format("openai", {{"name", "n"}, {"strict", true}, {"schema", with(lossy)}});
    EXPECT_EQ(reported(answer), "response_format;clamped") << lossy;
  }
  for (const char* mergeable : {R"({"allOf":[{"type":"string","pattern":"^a"},{"pattern":"^a"}]})",
                                R"({"allOf":[{"type":"string","title":"t"},{"title":"u","pattern":"^a"}]})",
                                R"({"allOf":[{"type":"string","enum":["a","b"]},{"enum":["b"]}]})"}) {
    const WireRequest tool = with_tool("openai", with(mergeable));
    EXPECT_FALSE(tool.loosened_tools) << mergeable;
    EXPECT_EQ(reported(tool), "") << mergeable;
  }
}

}  // namespace
}  // namespace millrace::providers::openai_schema_test
