#include <gtest/gtest.h>

#include "ai/providers/mock/mock.h"

namespace millrace::providers::mock_value_test {
namespace {

using nlohmann::json;

TEST(MockValue, AReferenceMeansWhatItLeadsTo) {
  const json schema = json::parse(R"({
    "type": "object",
    "properties": {"home": {"$ref": "#/$defs/Place"}, "lost": {"$ref": "#/$defs/None"}, "far": {"$ref": "other.json"}},
    "$defs": {"Place": {"type": "object", "properties": {"street": {"type": "string"}, "number": {"type": "integer"}}}}
  })");
  const json value = mock_value(schema, "Ada");
  EXPECT_EQ(value["home"], (json{{"street", "Ada"}, {"number", 1}}));
  EXPECT_TRUE(value["lost"].is_null());
  EXPECT_TRUE(value["far"].is_null());
}

TEST(MockValue, AShapeThatHoldsItselfEndsWhereItMay) {
  const json schema = json::parse(R"({
    "type": "object",
    "properties": {"name": {"type": "string"},
                   "children": {"type": "array", "items": {"$ref": "#"}},
                   "parent": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}
  })");
  json value = mock_value(schema, "x");
  while (!value["children"].empty()) value = json(value["children"][0]);
  EXPECT_EQ(value["name"], "x");
  value = mock_value(schema, "x");
  while (!value["parent"].is_null()) value = json(value["parent"]);
  EXPECT_EQ(value["name"], "x");
}

TEST(MockValue, AShapeThatHoldsItselfManyTimesIsBounded) {
  json schema{{"type", "object"}, {"properties", json::object()}};
  for (int i = 0; i < 50; ++i) schema["properties"]["p" + std::to_string(i)] = {{"$ref", "#"}};
  EXPECT_LT(mock_value(schema, "x").dump().size(), 1'000'000U);
  EXPECT_TRUE(mock_value(json{{"$ref", "#"}}, "x").is_null());
}

}  // namespace
}  // namespace millrace::providers::mock_value_test
