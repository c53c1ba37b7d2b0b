#include "ai/providers/wire_names.h"

#include <gtest/gtest.h>

#include "tests/unit/providers/family_cases.h"

namespace millrace::providers::wire_names_test {
namespace {

using schemas::Json;
using testing::target_of;

Json tool(const std::string& name, const Json& parameters = Json::object()) {
  return {{"type", "function"}, {"function", {{"name", name}, {"parameters", parameters}}}};
}
Json tools(const std::vector<std::string>& names) {
  Json all = Json::array();
  for (const std::string& name : names) all.push_back(tool(name));
  return all;
}

std::vector<std::string> fitted(Dialect dialect, const std::vector<std::string>& names) {
  const schemas::ChatRequest request = testing::request_of({{"tools", tools(names)}});
  const auto made = fit_names(dialect, request);
  std::vector<std::string> all;
  for (const Json& each : made ? made->request.body["tools"] : request.body["tools"])
    all.push_back(each["function"]["name"]);
  return all;
}
using Words = std::vector<std::string>;

TEST(WireNames, ToolsFitEachDialect) {
  const Words names{"21st_builder", "a.b:c", "größe", "plain", std::string(84, 't')};
  const std::string cut(64, 't');
  EXPECT_EQ(fitted(Dialect::kGemini, names), (Words{"_21st_builder", "a.b_c", "gr__e", "plain", cut}));
  for (const Dialect dialect :
       {Dialect::kOpenai, Dialect::kAnthropic, Dialect::kXai, Dialect::kMistral, Dialect::kGroq})
    EXPECT_EQ(fitted(dialect, names), (Words{"21st_builder", "a_b_c", "gr__e", "plain", cut}));
  for (const Dialect dialect : {Dialect::kLocal, Dialect::kMock}) EXPECT_EQ(fitted(dialect, names), names);
}

TEST(WireNames, DifferentNamesStayDifferent) {
  EXPECT_EQ(fitted(Dialect::kOpenai, {"a.b", "a b", "a_b", "a_b_2"}),
            (Words{"a_b_3", "a_b_4", "a_b", "a_b_2"}));
  const std::string begin(70, 'x');
  const Words two = fitted(Dialect::kOpenai, {begin + "1", begin + "2"});
  EXPECT_EQ(two, (Words{std::string(64, 'x'), std::string(62, 'x') + "_2"}));
  EXPECT_EQ(fitted(Dialect::kGemini, {"日本", "中国"}), (Words{"__", "___2"}));
}

const Json kSchema = Json::parse(R"({"type": "object", "properties": {
    "filter[name]": {"$ref": "#/$defs/F"}, "filter_name_": {"type": "string"},
    "deep": {"type": "array", "items": {"type": "object", "properties": {"größe": {"type": "string"}},
             "required": ["größe"], "default": {"größe": "m"}}},
    "same": {"$ref": "#/properties/filter[name]"}},
    "required": ["filter[name]"], "dependentRequired": {"filter[name]": ["deep"]},
    "$defs": {"F": {"type": "string", "enum": ["filter[name]"]}}})");

WireRequest sent(const char* provider, const char* model, const Json& body) {
  return testing::sent(target_of(provider, model), body.dump());
}

TEST(WireNames, MembersFitWhereverTheSchemaNamesThem) {
  const WireRequest wire =
      sent("anthropic", "claude-sonnet-4-5", {{"tools", Json::array({tool("f", kSchema)})}});
  EXPECT_EQ(Json::parse(wire.body)["tools"][0]["input_schema"],
            Json::parse(R"({"type": "object", "properties": {
    "filter_name__2": {"$ref": "#/$defs/F"}, "filter_name_": {"type": "string"},
    "deep": {"type": "array", "items": {"type": "object", "properties": {
             "gr__e": {"type": "string", "description": "größe"}}, "required": ["gr__e"], "default": {"gr__e": "m"}}},
    "same": {"$ref": "#/properties/filter_name__2"}},
    "required": ["filter_name__2"], "dependentRequired": {"filter_name__2": ["deep"]},
    "$defs": {"F": {"type": "string", "enum": ["filter[name]"]}}})"));
  EXPECT_EQ(schemas::dropped_text(wire.dropped), "tools;clamped");
}

TEST(WireNames, WhatFitsIsNotCopied) {
  for (const Dialect dialect : {Dialect::kOpenai, Dialect::kAnthropic, Dialect::kGemini}) {
    EXPECT_FALSE(fit_names(dialect, testing::request_of(Json::object())));
    EXPECT_FALSE(fit_names(dialect, testing::request_of({{"tools", tools({"a", "b-c"})}})));
    for (const Json& odd : {Json(3), Json("x"), Json::array({3, nullptr, Json::object()}), Json()})
      EXPECT_FALSE(
          fit_names(dialect, testing::request_of({{"tools", odd}, {"tool_choice", odd}, {"messages", odd}})));
  }
}

TEST(WireNames, NamesInTheHistoryAloneFitToo) {
  const WireRequest wire =
      sent("gemini", "gemini-2.5-flash", Json::parse(R"({"messages": [{"role": "user", "content": "u"},
      {"role": "assistant", "tool_calls": [{"id": "a", "type": "function", "function": {"name": "1f", "arguments": "{}"}}]},
      {"role": "tool", "tool_call_id": "a", "content": "r"}]})"));
  const Json contents = Json::parse(wire.body)["contents"];
  EXPECT_EQ(contents[1]["parts"][0]["functionCall"]["name"], "_1f");
  EXPECT_EQ(contents[2]["parts"][0]["functionResponse"]["name"], "_1f");
  EXPECT_EQ(schemas::dropped_text(wire.dropped), "messages;clamped");
}

WireNames names_of_call() {
  std::map<std::string, WireNames::Tool, std::less<>> tools;
  const Json schema = Json::parse(R"({"properties": {"a_": {"anyOf": [{"$ref": "#"}, {"type": "array",
      "items": {"$ref": "#"}}, {"type": "integer"}]}}})");
  tools["f_"] = {
      .given = "f!", .members = {{"a_", "a[0]"}}, .parameters = std::make_shared<const Json>(schema)};
  tools["g_"] = {.given = "g!"};
  return WireNames(std::move(tools));
}

TEST(WireNames, RepliesGetTheGivenNames) {
  schemas::ChatReply reply;
  reply.choices.resize(1);
  reply.choices[0].tool_calls = {{.id = "1", .name = "f_", .arguments = R"({"z":1,"a_":{"a_":[{"a_":2}]}})"},
                                 {.id = "2", .name = "g_", .arguments = R"({"a_":1})"},
                                 {.id = "3", .name = "f_", .arguments = R"({"a_":)"},
                                 {.id = "4", .name = "h", .arguments = "{}"}};
  names_of_call().restore(reply);
  const auto& calls = reply.choices[0].tool_calls;
  EXPECT_EQ(calls[0].name, "f!");
  EXPECT_EQ(calls[0].arguments, R"({"z":1,"a[0]":{"a[0]":[{"a[0]":2}]}})");
  EXPECT_EQ(calls[1].name, "g!");
  EXPECT_EQ(calls[1].arguments, R"({"a_":1})");
  EXPECT_EQ(calls[2].arguments, R"({"a_":)") << "cut off";
  EXPECT_EQ(calls[3].name, "h");
}

// A value as a call of the tool and its answer have it: with the client's names, and with those of the model.
struct Member {
  const char* schema;  // the tool's parameters
  const char* given;
  const char* sent;
};
const Member kMembers[] = {
    {R"({"properties": {"a[0]": {}}, "additionalProperties": {"type": "integer"}})", R"({"a[0]":1,"b[0]":2})",
     R"({"a_0_":1,"b[0]":2})"},
    {R"({"properties": {"a[0]": {}, "free": {"additionalProperties": {"type": "string"}}}})",
     R"({"a[0]":1,"free":{"a[0]":"x","a_0_":"y"}})", R"({"a_0_":1,"free":{"a[0]":"x","a_0_":"y"}})"},
    {R"({"properties": {"a[0]": {}, "free": {"patternProperties": {"^a": {"properties": {"a[0]": {}}}}}}})",
     R"({"free":{"a_0_":{"a[0]":1}}})", R"({"free":{"a_0_":{"a_0_":1}}})"},
    {R"({"properties": {"any": {}, "a[0]": {}}})", R"({"any":{"a_0_":1},"a[0]":{"a_0_":2}})",
     R"({"any":{"a_0_":1},"a_0_":{"a_0_":2}})"},
    {R"({"properties": {"l": {"items": {"properties": {"a[0]": {"$ref": "#"}}}}}})",
     R"({"l":[{"a[0]":{"l":[{"a[0]":{}}],"a_0_":1}},{"x":0}]})",
     R"({"l":[{"a_0_":{"l":[{"a_0_":{}}],"a_0_":1}},{"x":0}]})"},
    {R"({"properties": {"l": {"items": [{"properties": {"a[0]": {}}}, {"type": "object"}]}}})",
     R"({"l":[{"a[0]":1},{"a_0_":2}]})", R"({"l":[{"a_0_":1},{"a_0_":2}]})"},
    {R"({"$ref": "#/$defs/properties", "$defs": {"properties": {"properties": {"a[0]": {}}}}})",
     R"({"a[0]":1})", R"({"a_0_":1})"},
    {R"({"anyOf": [{"properties": {"kind": {"const": "n"}, "a[0]": {}}},
                   {"properties": {"kind": {"const": "m"}}, "additionalProperties": {"type": "integer"}}]})",
     R"({"kind":"m","a_0_":1})", R"({"kind":"m","a_0_":1})"},
    {R"({"oneOf": [{"properties": {"a[0]": {}}, "required": ["a[0]", "b"]}, {"required": ["c"]}]})",
     R"({"a[0]":1,"b":2})", R"({"a_0_":1,"b":2})"},
    {R"({"allOf": [{"properties": {"a[0]": {}}}, {"properties": {"b": {"type": "object"}}}]})",
     R"({"b":{"a_0_":1},"a[0]":3})", R"({"b":{"a_0_":1},"a_0_":3})"},
    {R"({"properties": {"a[0]": {}, "x": {"$ref": "#/properties/y~1z"},
                       "y/z": {"properties": {"a[0]": {}}}}})",
     R"({"x":{"a[0]":1}})", R"({"x":{"a_0_":1}})"},
    {R"({"properties": {"x": {"$ref": "#/properties/a%5B0%5D"}, "a[0]": {"properties": {"a[0]": {}}}}})",
     R"({"x":{"a[0]":1}})", R"({"x":{"a_0_":1}})"},
    {R"({"properties": {"a[0]": {}}, "if": {}, "then": {"properties": {"t": {"properties": {"a[0]": {}}}}},
         "dependentSchemas": {"t": {"properties": {"u": {"properties": {"a[0]": {}}}}}}})",
     R"({"t":{"a[0]":1},"u":{"a[0]":2}})", R"({"t":{"a_0_":1},"u":{"a_0_":2}})"},
    {R"({"properties": {"a[0]": 3, "b": null, "c": {"properties": [], "items": 4, "anyOf": {}, "$ref": 5}}})",
     R"({"a[0]":{"a_0_":1},"b":{"a_0_":1},"c":{"a_0_":1}})",
     R"({"a_0_":{"a_0_":1},"b":{"a_0_":1},"c":{"a_0_":1}})"},
    {R"({"properties": {"a[0]": {}, "free": {"type": "object", "required": ["a[0]"],
                                             "additionalProperties": {"type": "string"}}}})",
     R"({"free":{"a[0]":"x"}})", R"({"free":{"a_0_":"x"}})"},
    {R"({"properties": {"a[0]": {}, "free": {"dependentRequired": {"b": ["a[0]"]}}}})",
     R"({"free":{"a[0]":1,"b":2}})", R"({"free":{"a_0_":1,"b":2}})"},
    {R"({"properties": {"a[0]": {}, "free": {"not": {"required": ["a[0]"]}}}})", R"({"free":{"a[0]":1}})",
     R"({"free":{"a_0_":1}})"},
    {R"({"anyOf": [{"properties": {"kind": {"$ref": "#/$defs/N"}, "a[0]": {}}},
                   {"properties": {"kind": {"$ref": "#/$defs/M"}},
                    "additionalProperties": {"type": "integer"}}],
         "$defs": {"N": {"const": "n"}, "M": {"enum": ["m"]}}})",
     R"({"kind":"m","a_0_":1})", R"({"kind":"m","a_0_":1})"},
    {R"({"anyOf": [{"properties": {"a[0]": {}, "b": {}}, "additionalProperties": false},
                   {"properties": {"c": {}}, "additionalProperties": {"type": "integer"}}]})",
     R"({"c":1,"a_0_":2})", R"({"c":1,"a_0_":2})"},
};

schemas::ChatRequest calling(const Member& each) {
  return testing::request_of(
      {{"tools", Json::array({tool("f", Json::parse(each.schema))})},
       {"messages",
        Json::array(
            {{{"role", "assistant"},
              {"tool_calls", Json::array({{{"function", {{"name", "f"}, {"arguments", each.given}}}}})}}})}});
}

TEST(WireNames, OnlyDeclaredMembersAreRenamedInCallsAndAnswers) {
  for (const Member& each : kMembers) {
    const auto made = fit_names(Dialect::kAnthropic, calling(each));
    ASSERT_TRUE(made) << each.schema;
    EXPECT_EQ(made->request.body["messages"][0]["tool_calls"][0]["function"]["arguments"], each.sent)
        << each.schema;
    schemas::ChatReply reply;
    reply.choices.resize(1);
    reply.choices[0].tool_calls = {{.name = "f", .arguments = each.sent}};
    made->names.restore(reply);
    EXPECT_EQ(reply.choices[0].tool_calls[0].arguments, each.given) << each.schema;
  }
}

TEST(WireNames, ValuesInASchemaKeepTheNamesOfFreeMaps) {
  const Json schema = Json::parse(R"({"properties": {"a[0]": {}, "free": {"type": "object",
      "default": {"a[0]": 1}, "examples": [{"a[0]": 2}]}}, "default": {"a[0]": 3, "free": {"a[0]": 4}}})");
  const auto made =
      fit_names(Dialect::kAnthropic, testing::request_of({{"tools", Json::array({tool("f", schema)})}}));
  const Json& sent = made->request.body["tools"][0]["function"]["parameters"];
  EXPECT_EQ(sent["properties"]["free"], schema["properties"]["free"]);
  EXPECT_EQ(sent["default"], Json::parse(R"({"a_0_": 3, "free": {"a[0]": 4}})"));
}

// The arguments of a model's call, as the client gets them.
std::string restored(const Json& parameters, const std::string& arguments) {
  const auto made =
      fit_names(Dialect::kAnthropic, testing::request_of({{"tools", Json::array({tool("f", parameters)})}}));
  schemas::ChatReply reply;
  reply.choices.resize(1);
  reply.choices[0].tool_calls = {{.name = "f", .arguments = arguments}};
  made->names.restore(reply);
  return reply.choices[0].tool_calls[0].arguments;
}

// Alternatives in each other, and a value with many members: more steps than are taken for one call.
TEST(WireNames, BeyondTheStepsEachMemberIsRenamed) {
  Json schema = {{"properties", {{"a[0]", Json::object()}}}};
  for (int i = 0; i < 400; ++i) schema["anyOf"].push_back({{"title", std::to_string(i)}});
  Json value = Json::object();
  for (int i = 0; i < 400; ++i) value["m" + std::to_string(i)] = {{"a_0_", i}};
  EXPECT_EQ(Json::parse(restored(schema, value.dump()))["m399"], (Json{{"a[0]", 399}}));
}

TEST(WireNames, ListedValuesCountAsSteps) {
  Json listed = Json::array();
  for (int i = 0; i < 1'000; ++i) listed.push_back(std::to_string(i));
  Json schema = {{"properties", {{"a[0]", Json::object()}}}};
  for (int i = 0; i < 200; ++i) schema["anyOf"].push_back({{"properties", {{"kind", {{"enum", listed}}}}}});
  const std::string value = R"({"kind":"none","free":{"a_0_":1}})";
  EXPECT_EQ(restored(schema, value), R"({"kind":"none","free":{"a[0]":1}})");
  schema["anyOf"].get_ref<Json::array_t&>().resize(50);
  EXPECT_EQ(restored(schema, value), value);
}

TEST(WireNames, ArgumentsWithoutFittedMembersKeepTheirText) {
  const Json schema = {{"properties", {{"a[0]", Json::object()}}}};
  for (const char* text : {R"({"x": 1.10})", R"({"x":123456789012345678901234567890})", R"({"x":1,"x":2})"})
    EXPECT_EQ(restored(schema, text), text);
}

schemas::ChatPiece piece(int choice, std::vector<schemas::ToolCallPiece> calls,
                         const std::string& finish = "") {
  schemas::ChatPiece made;
  made.index = choice;
  made.tool_calls = std::move(calls);
  made.finish_reason = finish;
  return made;
}

TEST(WireNames, StreamsHoldTheArgumentsOfFittedMembers) {
  WireNames names = names_of_call();
  schemas::ChatAssembly assembly;
  std::size_t early = 0;
  const auto receive = [&](schemas::ChatPiece made) {
    names.restore(made);
    for (const schemas::ToolCallPiece& call : made.tool_calls)
      early += made.finish_reason.empty() && call.index == 0 ? call.arguments.size() : 0;
    assembly.add(made);
  };
  receive(piece(0, {{.index = 0, .id = "1", .type = "function", .name = "f_", .arguments = ""}}));
  receive(piece(0, {{.index = 0, .arguments = R"({"a)"}}));
  receive(piece(0, {{.index = 1, .id = "2", .type = "function", .name = "g_", .arguments = R"({"a_)"}}));
  receive(piece(0, {{.index = 0, .arguments = R"(_":1})"}, {.index = 1, .arguments = R"(":2})"}}));
  receive(piece(1, {{.index = 0, .id = "3", .type = "function", .name = "f_", .arguments = R"({"a_":3})"}}));
  receive(piece(0, {}, "tool_calls"));
  EXPECT_EQ(early, 0U);
  const std::vector<schemas::ChatPiece> rest = names.take_held();
  ASSERT_EQ(rest.size(), 1U) << "the other choice never finished";
  for (const schemas::ChatPiece& each : rest) assembly.add(each);
  const schemas::ChatReply reply = assembly.take();
  EXPECT_EQ(reply.choices.at(0).tool_calls.at(0).arguments, R"({"a[0]":1})");
  EXPECT_EQ(reply.choices.at(0).tool_calls.at(0).name, "f!");
  EXPECT_EQ(reply.choices.at(0).tool_calls.at(1).arguments, R"({"a_":2})");
  EXPECT_EQ(reply.choices.at(1).tool_calls.at(0).arguments, R"({"a[0]":3})");
  EXPECT_TRUE(names.take_held().empty());
}

TEST(WireNames, StreamsKeepTheNamesOfFreeMaps) {
  for (const Member& each : kMembers) {
    auto made = fit_names(Dialect::kAnthropic, calling(each));
    schemas::ChatAssembly assembly;
    const std::string sent = each.sent;
    for (schemas::ChatPiece part :
         {piece(0, {{.index = 0, .id = "1", .name = "f"}}),
          piece(0, {{.index = 0, .arguments = sent.substr(0, 3)}}),
          piece(0, {{.index = 0, .arguments = sent.substr(3)}}), piece(0, {}, "stop")}) {
      made->names.restore(part);
      assembly.add(part);
    }
    EXPECT_EQ(assembly.take().choices.at(0).tool_calls.at(0).arguments, each.given) << each.schema;
  }
}

}  // namespace
}  // namespace millrace::providers::wire_names_test
