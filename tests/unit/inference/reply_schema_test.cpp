#include "ai/inference/schema/reply_schema.h"

#include <gtest/gtest.h>

#include "ai/inference/chat/chat.h"

namespace millrace::inference {
namespace {

using base::Code;
using schemas::Json;

Json body_of(const Json& schema, bool strict = true) {
  return {
      {"response_format",
       {{"type", "json_schema"}, {"json_schema", {{"name", "n"}, {"strict", strict}, {"schema", schema}}}}}};
}
ReplySchema::Ptr schema_of(const char* schema) {
  auto made = ReplySchema::of(body_of(Json::parse(schema)));
  EXPECT_TRUE(made) << schema << (made ? "" : made.error().message);
  return made ? *made : nullptr;
}
// The error in the document; empty: none.
std::string wrong(const char* schema, std::string_view document) {
  const auto made = schema_of(schema);
  if (!made) return "no schema";
  const base::Status status = made->check(document);
  if (status) return {};
  EXPECT_EQ(Code::kUpstream, status.error().code);
  EXPECT_EQ("response_format", status.error().param);
  constexpr std::string_view kBefore = "the model's answer breaks the schema of response_format: ";
  EXPECT_TRUE(status.error().message.starts_with(kBefore)) << status.error().message;
  return status.error().message.substr(kBefore.size());
}
std::string refused(const Json& schema) {
  const auto made = ReplySchema::of(body_of(schema));
  if (made) return {};
  EXPECT_EQ(Code::kInvalidField, made.error().code);
  EXPECT_EQ("response_format.json_schema.schema", made.error().param);
  return made.error().message;
}

constexpr const char* kOrder = R"({"type":"object","required":["id","lines"],"additionalProperties":false,
  "properties":{"id":{"type":"integer","minimum":1},"note":{"anyOf":[{"type":"string","maxLength":5},{"type":"null"}]},
  "lines":{"type":"array","minItems":1,"uniqueItems":true,"items":{"$ref":"#/$defs/line"}}},
  "$defs":{"line":{"type":"object","required":["kind"],"properties":{"kind":{"enum":["a","b"]},
  "part":{"$ref":"#/$defs/line"},"n":{"multipleOf":0.1,"exclusiveMaximum":10}}}}})";

TEST(ReplySchema, IsThereOnlyWhereARequestIsStrict) {
  EXPECT_FALSE(*ReplySchema::of(Json::object()));
  EXPECT_FALSE(*ReplySchema::of({{"response_format", {{"type", "json_object"}}}}));
  EXPECT_FALSE(*ReplySchema::of(body_of({{"type", "nonsense"}}, false)));
  EXPECT_TRUE(*ReplySchema::of(body_of({{"type", "object"}})));
}

TEST(ReplySchema, ADocumentThatFitsIsRight) {
  EXPECT_EQ("",
            wrong(kOrder,
                  R"({"id":7,"note":null,"lines":[{"kind":"a","n":0.3},{"kind":"b","part":{"kind":"a"}}]})"));
  EXPECT_EQ("", wrong(kOrder, R"( {"id":7.0,"note":"äöüßé","lines":[{"kind":"a","more":[]}]} )"));
  EXPECT_EQ("", wrong("true", "[1]"));
  EXPECT_EQ(
      "",
      wrong(R"({"not":{"type":"string"},"oneOf":[{"type":"number"},{"type":"integer","maximum":0}]})", "1"));
  EXPECT_EQ("", wrong(R"({"type":["string","null"],"const":null})", "null"));
}

TEST(ReplySchema, WhatBreaksItIsNamedWithItsPlaceInTheDocument) {
  EXPECT_EQ("it is not a JSON document", wrong(kOrder, "Sure! {\"id\":1}"));
  EXPECT_EQ("it is not a JSON document", wrong(kOrder, ""));
  EXPECT_EQ("$: should be of type \"object\"", wrong(kOrder, "[]"));
  EXPECT_EQ("$: has no member \"lines\"", wrong(kOrder, R"({"id":1})"));
  EXPECT_EQ("$.x: is not allowed", wrong(kOrder, R"({"id":1,"lines":[{"kind":"a"}],"x":1})"));
  EXPECT_EQ("$.id: should be of type \"integer\"", wrong(kOrder, R"({"id":1.5,"lines":[{"kind":"a"}]})"));
  EXPECT_EQ("$.id: should be at least 1", wrong(kOrder, R"({"id":0,"lines":[{"kind":"a"}]})"));
  EXPECT_EQ("$.note: matches none of anyOf",
            wrong(kOrder, R"({"id":1,"note":"longer","lines":[{"kind":"a"}]})"));
  EXPECT_EQ("$.lines: should have at least 1 items", wrong(kOrder, R"({"id":1,"lines":[]})"));
  EXPECT_EQ("$.lines: has duplicate items", wrong(kOrder, R"({"id":1,"lines":[{"kind":"a"},{"kind":"a"}]})"));
  EXPECT_EQ("$.lines.1.part.kind: should be one of [\"a\",\"b\"]",
            wrong(kOrder, R"({"id":1,"lines":[{"kind":"a"},{"kind":"b","part":{"kind":"c"}}]})"));
  EXPECT_EQ("$.lines.0.n: should be a multiple of 0.1",
            wrong(kOrder, R"({"id":1,"lines":[{"kind":"a","n":0.25}]})"));
  EXPECT_EQ("$.lines.0.n: should be below 10", wrong(kOrder, R"({"id":1,"lines":[{"kind":"a","n":10}]})"));
  EXPECT_EQ("$: matches 2 schemas of oneOf, not exactly 1",
            wrong(R"({"oneOf":[{"type":"number"},{"type":"integer"}]})", "1"));
  EXPECT_EQ("$: matches the schema of not", wrong(R"({"not":{}})", "1"));
}

TEST(ReplySchema, KeywordsThatAreNotCheckedRefuseNothing) {
  EXPECT_EQ("",
            wrong(R"({"type":"string","pattern":"^(a+)+$","format":"date","x-mine":{"$ref":5}})", "\"no\""));
  EXPECT_EQ("",
            wrong(R"({"patternProperties":{"^x":{}},"additionalProperties":false})", R"({"x1":1,"y":2})"));
}

TEST(ReplySchema, WhatIsNoSchemaIsRefused) {
  EXPECT_NE("", refused({{"type", "text"}}));
  EXPECT_NE("", refused({{"type", Json::array()}}));
  EXPECT_NE("", refused({{"properties", Json::array()}}));
  EXPECT_NE("", refused({{"properties", {{"a", 5}}}}));
  EXPECT_NE("", refused({{"required", "a"}}));
  EXPECT_NE("", refused({{"anyOf", Json::array()}}));
  EXPECT_NE("", refused({{"enum", 1}}));
  EXPECT_NE("", refused({{"minLength", -1}}));
  EXPECT_NE("", refused({{"multipleOf", 0}}));
  EXPECT_NE("", refused({{"items", {{"maximum", "9"}}}}));
  EXPECT_NE(std::string::npos,
            refused({{"properties", {{"a/b", 5}}}}).find("/properties/a~1b is not a schema"));
  for (const char* reference :
       {"https://example.com/s", "#/nowhere", "#anchor", "other.json", "#/$defs", "#/%24defs/a"})
    EXPECT_NE("", refused({{"items", {{"$ref", reference}}}, {"$defs", {{"a", true}}}})) << reference;
}

TEST(ReplySchema, OneThatLeadsBackToItselfWithoutGoingIntoTheDocumentIsRefused) {
  EXPECT_NE("", refused(Json::parse(R"({"$ref":"#"})")));
  EXPECT_NE("", refused(Json::parse(R"({"anyOf":[{"type":"string"},{"$ref":"#"}]})")));
  EXPECT_NE("",
            refused(Json::parse(R"({"items":{"$ref":"#/$defs/a"},"$defs":{"a":{"not":{"$ref":"#/$defs/b"}},)"
                                R"("b":{"allOf":[{"$ref":"#/$defs/a"}]}}})")));
  EXPECT_EQ("", refused(Json::parse(R"({"items":{"anyOf":[{"type":"null"},{"$ref":"#"}]}})")));
}

TEST(ReplySchema, BesideAReferenceOtherKeywordsCountToo) {
  const char* schema = R"({"$ref":"#/$defs/a","maximum":5,"$defs":{"a":{"type":"integer"}}})";
  EXPECT_EQ("", wrong(schema, "5"));
  EXPECT_EQ("$: should be at most 5", wrong(schema, "6"));
  EXPECT_EQ("$: should be of type \"integer\"", wrong(schema, "\"5\""));
}

TEST(ReplySchema, ALongOneIsRefused) {
  Json schema;
  for (int i = 0; i < 5'001; ++i) schema["properties"]["p" + std::to_string(i)] = true;
  EXPECT_NE("", refused(schema));
  EXPECT_NE("", refused({{"description", std::string(256u << 10, 'x')}}));
}

TEST(ReplySchema, AChainOfReferencesAsLongAsASchemaMayBeIsRead) {
  Json schema = {{"$ref", "#/$defs/0"}};
  constexpr int kLinks = 1'500;
  for (int i = 0; i < kLinks; ++i)
    schema["$defs"][std::to_string(i)] = {
        {"properties", {{"x", {{"$ref", "#/$defs/" + std::to_string((i + 1) % kLinks)}}}}}};
  EXPECT_EQ("", refused(schema));
}

// At each level, two alternatives match. A naive check would take 2^60 steps.
TEST(ReplySchema, AlternativesAtEveryLevelOfADeepDocumentAreTriedOnceEach) {
  const char* schema = R"({"$ref":"#/$defs/e","$defs":{"e":{"anyOf":[{"type":"integer"},
    {"type":"object","properties":{"l":{"$ref":"#/$defs/e"},"op":{"const":"+"}}},
    {"type":"object","properties":{"l":{"$ref":"#/$defs/e"},"op":{"const":"*"}}}]}}})";
  std::string document = "1";
  for (int i = 0; i < 60; ++i) document = R"({"l":)" + document + R"(,"op":"*"})";
  EXPECT_EQ("", wrong(schema, document));
}

TEST(ReplySchema, ADocumentThatTakesTooManyStepsIsNotTakenForRight) {
  std::string document = "[0";
  for (int i = 0; i < 600'000; ++i) document += ",0";
  document += "]";
  EXPECT_NE(std::string::npos,
            wrong(R"({"items":{"allOf":[{"type":"integer"}]}})", document).find("more than 1000000 steps"));
}

std::string held_to_any_of(const Json& alternative, std::size_t count, std::string_view document) {
  return wrong(Json{{"anyOf", std::vector<Json>(count, alternative)}}.dump().c_str(), document);
}
std::string list_of(int items, bool differ) {
  std::string document = "[0";
  for (int i = 1; i < items; ++i) document += "," + std::to_string(differ ? i : 0);
  return document + "]";
}

TEST(ReplySchema, WorkThatOneKeywordMakesCountsAsManySteps) {
  constexpr const char* kTooMany = "$: the check would take more than 1000000 steps";
  EXPECT_EQ(kTooMany, held_to_any_of({{"uniqueItems", true}}, 4'990, list_of(16'000, false)));
  EXPECT_EQ("", held_to_any_of({{"uniqueItems", true}}, 4'990, list_of(16'000, true)));
  const std::string text = Json(std::string(1u << 20, 'x')).dump();
  EXPECT_EQ(kTooMany, held_to_any_of({{"maxLength", 5}}, 1'000, text));
}

TEST(ReplySchema, TheLongerTheSchemaAndTheAnswerTheMoreStepsAreExpected) {
  const auto small = schema_of(R"({"type":"object"})");
  const auto large = schema_of(kOrder);
  EXPECT_GT(large->steps(100), small->steps(100));
  EXPECT_GT(small->steps(100), small->steps(10));
  EXPECT_GT(large->steps(0), 0u);
}

TEST(ReplySchema, FaultsBelowLongNamesAreNamedByTheirWholePlace) {
  Json schema = {{"type", "text"}};
  for (int i = 0; i < 3; ++i) schema = {{"properties", {{"n" + std::to_string(i), schema}}}};
  EXPECT_NE(std::string::npos,
            refused(schema).find(": /properties/n2/properties/n1/properties/n0/type should be"));
  EXPECT_NE(
      std::string::npos,
      refused({{"$defs", {{"a~/", {{"$ref", "#/$defs/b"}}}}}}).find("/$defs/a~0~1/$ref does not refer to"));
  EXPECT_EQ("", refused({{"items", {{"$ref", "#/$defs/a~0~1"}}}, {"$defs", {{"a~/", true}}}}));
  EXPECT_EQ("", refused({{"items", {{"$ref", "#/anyOf/1"}}}, {"anyOf", {true, false}}}));
  EXPECT_NE("", refused({{"items", {{"$ref", "#/anyOf/01"}}}, {"anyOf", {true, false}}}));
  EXPECT_NE("", refused({{"items", {{"$ref", "#/anyOf/2"}}}, {"anyOf", {true, false}}}));
}

TEST(ReplySchema, OnlyAnswersThatAreOverAndTheModelsOwnAreChecked) {
  const auto schema = schema_of(R"({"type":"object"})");
  schemas::ChatReply reply;
  reply.choices.resize(2);
  reply.choices[0].content = "{}";
  reply.choices[0].finish_reason = reply.choices[1].finish_reason = "stop";
  reply.choices[1].content = "no";
  EXPECT_FALSE(schema->check(reply, {.format = true}));
  for (const char* reason : {"length", "content_filter", "tool_calls"}) {
    reply.choices[1].finish_reason = reason;
    EXPECT_TRUE(schema->check(reply, {.format = true})) << reason;
  }
  reply.choices[1].finish_reason = "stop";
  reply.choices[1].refusal = "I will not";
  EXPECT_TRUE(schema->check(reply, {.format = true}));
  reply.choices[1].refusal.reset();
  reply.choices[1].content.reset();
  EXPECT_FALSE(schema->check(reply, {.format = true}));
}

Json tools_of(const Json& schema, bool strict) {
  return {
      {"tools", Json::array({{{"type", "function"},
                              {"function", {{"name", "f"}, {"strict", strict}, {"parameters", schema}}}}})}};
}

TEST(ReplySchema, CallsOfStrictToolsAreChecked) {
  const Json least = {{"type", "object"}, {"properties", {{"n", {{"minimum", 1}}}}}};
  const auto schema = *ReplySchema::of(tools_of(least, true));
  ASSERT_TRUE(schema);
  EXPECT_TRUE(schema->available({.format = true, .calls = true}).calls);
  EXPECT_FALSE(schema->available({.format = true, .calls = true}).format);
  schemas::ChatReply reply;
  reply.choices.resize(1);
  reply.choices[0].finish_reason = "tool_calls";
  const auto is_right = [&](const char* name, const char* arguments) {
    reply.choices[0].tool_calls = {{.id = "c", .name = name, .arguments = arguments}};
    return schema->check(reply, {.calls = true});
  };
  for (const char* right : {R"({"n": 1})", "{}", ""}) EXPECT_TRUE(is_right("f", right)) << right;
  for (const char* wrong : {R"({"n": 0})", "[]", "{", "null"}) {
    const base::Status status = is_right("f", wrong);
    ASSERT_FALSE(status) << wrong;
    EXPECT_EQ("tools", status.error().param);
    EXPECT_TRUE(breaks_schema(status.error()));
    EXPECT_TRUE(is_right("g", wrong)) << "another tool";
    EXPECT_TRUE(schema->check(reply, {})) << "not asked for";
  }
  EXPECT_FALSE(is_right("f", R"({"n": 0})"));
  reply.choices[0].finish_reason = "length";
  EXPECT_TRUE(schema->check(reply, {.calls = true}));
  EXPECT_FALSE(*ReplySchema::of(tools_of(least, false)));
  EXPECT_FALSE(*ReplySchema::of(tools_of({{"type", "objekt"}}, true)));
}

TEST(ReplySchema, OneThatIsNotStrictIsThereIfItCanBeChecked) {
  const auto loose = *ReplySchema::of(body_of({{"type", "object"}}, false));
  ASSERT_TRUE(loose);
  EXPECT_FALSE(loose->is_strict());
  EXPECT_TRUE(schema_of(R"({"type":"object"})")->is_strict());
}

}  // namespace
}  // namespace millrace::inference
