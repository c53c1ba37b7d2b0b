#include <gtest/gtest.h>

#include "ai/providers/mock/mock.h"

namespace millrace::providers::mock_value_test {
namespace {

using schemas::Json;

TEST(MockValue, AReferenceMeansWhatItLeadsTo) {
  const Json schema = Json::parse(R"({
    "type": "object",
    "properties": {"home": {"$ref": "#/$defs/Place"}, "lost": {"$ref": "#/$defs/None"}, "far": {"$ref": "other.json"}},
    "$defs": {"Place": {"type": "object", "properties": {"street": {"type": "string"}, "number": {"type": "integer"}}}}
  })");
  const Json value = mock_value(schema, "Ada");
  EXPECT_EQ(value["home"], (Json{{"street", "Ada"}, {"number", 1}}));
  EXPECT_TRUE(value["lost"].is_null());
  EXPECT_TRUE(value["far"].is_null());
}

TEST(MockValue, AShapeThatHoldsItselfEndsWhereItMay) {
  const Json schema = Json::parse(R"({
    "type": "object",
    "properties": {"name": {"type": "string"},
                   "children": {"type": "array", "items": {"$ref": "#"}},
                   "parent": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}
  })");
  Json value = mock_value(schema, "x");
  while (!value["children"].empty()) value = Json(value["children"][0]);
  EXPECT_EQ(value["name"], "x");
  value = mock_value(schema, "x");
  while (!value["parent"].is_null()) value = Json(value["parent"]);
  EXPECT_EQ(value["name"], "x");
}

TEST(MockValue, AShapeThatHoldsItselfManyTimesIsBounded) {
  Json schema{{"type", "object"}, {"properties", Json::object()}};
  for (int i = 0; i < 50; ++i) schema["properties"]["p" + std::to_string(i)] = {{"$ref", "#"}};
  EXPECT_LT(mock_value(schema, "x").dump().size(), 1'000'000U);
  EXPECT_TRUE(mock_value(Json{{"$ref", "#"}}, "x").is_null());
}

}  // namespace
}  // namespace millrace::providers::mock_value_test
