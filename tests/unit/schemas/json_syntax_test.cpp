#include "schemas/json/json_syntax.h"

#include <string>

#include <gtest/gtest.h>

namespace millrace::schemas {
namespace {

TEST(JsonSyntax, ObjectsAndListsOfAnyDepthAndNumbersOfAnySizeAreJson) {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  std::string objects;
  for (int i = 0; i < 1'000; ++i) objects += R"({"a":)";
  objects += "1" + std::string(1'000, '}');
  for (const std::string& text :
       {deep, objects, std::string("{}"), std::string(" [ ] "), std::string("[1e999,-1E+400]"),
        std::string("[NaN, Infinity, -Infinity, null, true, false]"),
        std::string(R"({"a\"}": "[{\\", "b": [[], {}, {"c": ""}], "d": -0.5})")})
    EXPECT_TRUE(is_json_of_any_depth(text)) << text.substr(0, 100);
}

TEST(JsonSyntax, OtherTextsAreNot) {
  for (const std::string text :
       {"",          " ",     "1",      "\"a\"",   "NaN",       "<html>",   "[",          "{",     "[1",
        "[1,",       "[1,]",  "{,}",    "{\"a\"}", "{\"a\":}",  "{\"a\":1", "{\"a\":1,}", "{a:1}", "[1}",
        "{\"a\":1]", "[1] 2", "[1][2]", "[\"a]",   "[\"a\\\"]", "[nul]",    "[1 2]",      "[]]"})
    EXPECT_FALSE(is_json_of_any_depth(text)) << text;
}

}  // namespace
}  // namespace millrace::schemas
