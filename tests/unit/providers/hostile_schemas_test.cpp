#include <string>

#include <gtest/gtest.h>

#include "tests/support/cpu_time.h"
#include "tests/unit/providers/family_cases.h"

// JSON Schemas that are made to harm: each is translated within bounds, or refused.
namespace millrace::providers::hostile_schemas_test {
namespace {

using schemas::Json;
using testing::target_of;

constexpr const char* kProviders[] = {"openai", "azure", "anthropic", "gemini", "groq", "mistral", "xai"};
constexpr double kSecondsMax = 5;  // of the processor, for one schema and one provider
constexpr std::size_t kSentMax = std::size_t{64} << 20;

template <class Wire>
void expect_bounded(const Wire& wire, const char* provider) {
  if (wire) {
    EXPECT_LT(wire->body.size(), kSentMax) << provider;
  } else {
    EXPECT_NE(wire.error().code, base::Code::kInternal) << provider << ": " << wire.error().message;
  }
}

void translate(const char* provider, const char* model, const Json& schema) {
  schemas::ChatRequest request;
  request.body = {
      {"messages", {{{"role", "user"}, {"content", "x"}}}},
      {"tools",
       {{{"type", "function"}, {"function", {{"name", "f"}, {"strict", true}, {"parameters", schema}}}}}}};
  const Target target = target_of(provider, model);
  expect_bounded(translation(target.preset->family).chat_request(target, request, false), provider);
  request.body.erase("tools");
  request.body["response_format"] = {{"type", "json_schema"},
                                     {"json_schema", {{"name", "n"}, {"strict", true}, {"schema", schema}}}};
  expect_bounded(translation(target.preset->family).chat_request(target, request, false), provider);
}

void translate_in_time(const char* provider, const char* model, const Json& schema,
                       double seconds_max = kSecondsMax) {
  EXPECT_LT(support::cpu_seconds([&] { translate(provider, model, schema); }), seconds_max) << provider;
}

void translate_for_all(const Json& schema) {
  for (const char* provider : kProviders) translate_in_time(provider, "m", schema);
  translate_in_time("anthropic", "claude-sonnet-4-5", schema);
  translate_in_time("gemini", "gemini-3-pro", schema);
}

TEST(HostileSchemas, AReferenceToWhatIsNoSchemaIsHarmless) {
  translate_for_all(Json::parse(R"({"$ref":"#/default","required":["a"],"default":{"required":"x"}})"));
  translate_for_all(Json::parse(
      R"({"type":"object","properties":{"f":{"$ref":"#/components/F"}},"components":{"F":{"type":"file"}}})"));
  translate_for_all(Json::parse(R"({"allOf":[{"$ref":"#/default"}],"default":{"required":"x"}})"));
  translate_for_all(Json::parse(R"({"$ref":"#/examples/0","examples":[{"enum":7,"properties":[1]}]})"));
  translate_for_all(Json::parse(R"({"properties":{"a":{"$ref":"#/x/y"}},"x":{"y":"text"}})"));
}

TEST(HostileSchemas, BooleansStandForSchemasInAlternatives) {
  for (const char* first : {"false", "true", R"({"const":1})"}) {
    for (const char* second : {"false", "true", R"({"const":"x"})", R"({"enum":[true,null]})"}) {
      const std::string alternative = R"({"properties":{"b":)";
      translate_for_all(
          Json::parse(R"({"oneOf":[)" + alternative + first + "}}," + alternative + second + "}}]}"));
    }
  }
}

Json properties(int count, const std::string& prefix = "p") {
  Json out = Json::object();
  for (int i = 0; i < count; ++i) out[prefix + std::to_string(i)] = {{"type", "string"}};
  return out;
}

TEST(HostileSchemas, ManyReferencesToALargeDefinitionStayWithinBounds) {
  Json parts = Json::array(), all = Json::array();
  for (int i = 0; i < 300; ++i) parts.push_back({{"$ref", "#/$defs/D"}});
  for (int i = 0; i < 300; ++i) all.push_back({{"allOf", Json::array({{{"$ref", "#/$defs/D"}}})}});
  const Json defs = {{"D", {{"type", "object"}, {"properties", properties(3'000)}}}};
  translate_for_all({{"anyOf", parts}, {"$defs", defs}});
  translate_for_all({{"type", "object"}, {"properties", {{"a", {{"anyOf", all}}}}}, {"$defs", defs}});
}

TEST(HostileSchemas, ALongDescriptionBesideManyAlternativesIsNotMultiplied) {
  Json parts = Json::array();
  for (int i = 0; i < 4'000; ++i) parts.push_back({{"type", "string"}, {"minLength", i}});
  const Json part = {{"description", std::string(1'000'000, 'x')}, {"anyOf", parts}};
  translate_for_all({{"type", "object"}, {"properties", {{"a", part}}}});
}

TEST(HostileSchemas, ManyNamesAreFittedAndUnitedInLittleTime) {
  Json names = Json::object(), one = Json::array(), other = Json::array();
  for (int i = 0; i < 5'000; ++i) {
    std::string name =
        std::string("\xe6") + static_cast<char>(0x80 + i % 64) + static_cast<char>(0x80 + i / 64 % 64);
    name += std::string("\xe6") + static_cast<char>(0x80 + i / 4096 % 64) + "\x80";
    names[name] = {{"type", "string"}};
    one.push_back("a" + std::to_string(i));
    other.push_back("b" + std::to_string(i));
  }
  translate_for_all({{"type", "object"}, {"properties", names}});
  translate_for_all({{"allOf", {{{"required", one}}, {{"required", other}}}}});
}

Json numbers(int begin, int count) {
  Json out = Json::array();
  for (int i = begin; i < begin + count; ++i) out.push_back(i);
  return out;
}

Json with_property(Json schema) { return {{"properties", {{"k", std::move(schema)}}}}; }

TEST(HostileSchemas, ManyAlternativesWithValuesOfOnePropertyAreUnitedInLittleTime) {
  Json texts = Json::array(), lists = Json::array(), different = Json::array();
  for (int i = 0; i < 4'000; ++i) {
    texts.push_back(with_property({{"const", "v" + std::to_string(i)}}));
    different.push_back(with_property({{"type", "array"}, {"items", {{"const", i}}}}));
  }
  for (int i = 0; i < 1'500; ++i) lists.push_back(with_property({{"enum", numbers(i * 50, 50)}}));
  translate_for_all({{"anyOf", texts}});
  translate_for_all({{"anyOf", lists}});
  translate_in_time("openai", "m", {{"oneOf", texts}});
  translate_in_time("openai", "m", {{"oneOf", lists}});
  translate_in_time("openai", "m", {{"anyOf", different}}, 1);
}

TEST(HostileSchemas, ManyPartsOfAllOfAreMergedInLittleTime) {
  Json required = Json::array(), values = Json::array({{{"enum", numbers(0, 50'000)}}});
  for (int i = 0; i < 4'000; ++i) {
    required.push_back({{"required", Json::array({"a" + std::to_string(i)})}});
    values.push_back({{"enum", Json::array({"b"})}});
  }
  translate_for_all({{"allOf", required}});
  translate_for_all(with_property({{"allOf", values}}));
}

TEST(HostileSchemas, AListOfNumbersBesideManyAlternativesIsNotMultiplied) {
  Json parts = Json::array();
  for (int i = 0; i < 3'500; ++i) parts.push_back({{"minimum", i}});
  translate_for_all(with_property({{"enum", numbers(0, 50'000)}, {"anyOf", parts}}));
}

TEST(HostileSchemas, ManyMembersOfAClosedObjectAreRequiredInLittleTime) {
  Json names = Json::array(), members = properties(30'000);
  for (const auto& [name, schema] : members.items()) names.push_back(name);
  translate_in_time(
      "openai", "m",
      {{"type", "object"}, {"properties", members}, {"required", names}, {"additionalProperties", false}}, 3);
}

TEST(HostileSchemas, ManyReferencesThatLeadNowhereAreFollowedInLittleTime) {
  Json defs = Json::object(), parts = Json::array();
  for (int i = 0; i < 20'000; ++i) parts.push_back({{"$ref", "#/$defs/lost" + std::to_string(i)}});
  defs["all"] = {{"anyOf", parts}};
  for (int i = 0; i < 190; ++i) defs["d" + std::to_string(i)] = {{"$ref", "#/$defs/all"}};
  translate_for_all({{"type", "object"}, {"properties", {{"a", {{"$ref", "#/$defs/d0"}}}}}, {"$defs", defs}});
}

TEST(HostileSchemas, ManyNamesWithOneLongBeginningAreFittedInLittleTime) {
  const std::string begin(62, 'x');
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
  Json members = Json::object();
  for (const char third : {'1', '2', '3', '4'}) {
    for (const char first : kLetters) {
      for (const char second : kLetters) members[begin + first + second + third] = {{"type", "string"}};
    }
  }
  translate_for_all({{"type", "object"}, {"properties", members}});
}

}  // namespace
}  // namespace millrace::providers::hostile_schemas_test
