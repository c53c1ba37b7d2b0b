#include "schemas/json/json_tree.h"

#include <string>

#include <gtest/gtest.h>

#include "schemas/json/json_body.h"

namespace millrace::schemas::json_tree_test {
namespace {

using schemas::Json;

constexpr int kDepth = 128;

std::string nest(int levels) {
  const auto count = static_cast<std::size_t>(levels);
  return std::string(count, '[') + std::string(count, ']');
}

TEST(JsonTree, HasWhatTheTextSays) {
  for (const std::string_view text : {
           R"({"a":[1,-2,3.5,18446744073709551615,true,false,null,{},[]],"b\u0041":"x\ny\/€","":""})",
           R"({"z":1,"a":2,"m":{"z":-9223372036854775808,"a":1e-7}})",
           R"("text")",
           " 7 ",
           "-0.0",
           R"(["\u00e9","\u0000","\\ud800","\ud83d\ude00"])",
           "123456789012345678901234567890",
       }) {
    auto tree = parse_json(text, kDepth);
    ASSERT_TRUE(tree) << text;
    round_numbers(*tree);
    EXPECT_EQ(*tree, Json::parse(text)) << text;
  }
}

TEST(JsonTree, OfAKeyThatComesTwiceTheLastCounts) {
  EXPECT_EQ(parse_json(R"({"a":1,"b":2,"a":{"c":3}})", kDepth), Json::parse(R"({"a":{"c":3},"b":2})"));
}

TEST(JsonTree, WhatIsNoJsonHasNone) {
  for (const std::string_view text : {"", "{", "[1,]", "{\"a\":1} x", "nul", "\"a", "\"\xff\"", "\"\n\"",
                                      R"("\ud800")", R"("\ude00")", "1e999", "01"})
    EXPECT_FALSE(parse_json(text, kDepth)) << text;
}

TEST(JsonTree, IsNoDeeperThanItMayBe) {
  EXPECT_TRUE(parse_json(nest(kDepth), kDepth));
  EXPECT_FALSE(parse_json(nest(kDepth + 1), kDepth));
  EXPECT_FALSE(parse_json(R"({"\ud83d\ude00":)" + nest(kDepth) + "}", kDepth));
}

TEST(JsonTree, OneThatIsLargeIsReadLikeASmallOne) {
  const std::string text = R"({"a":[")" + std::string(100'000, 'x') + R"(",1]})";
  EXPECT_EQ(parse_json(text, kDepth), Json::parse(text));
}

TEST(JsonDump, IsWhatTheTreeWasReadFrom) {
  for (const std::string_view text : {
           R"({"a":[1,-2,3.5,18446744073709551615,true,false,null,{},[]],"b":"x\ny/€\"\\ \u0001"})",
           R"([-9223372036854775808,1e-07,0.1,"",{"":[[]]}])",
       })
    EXPECT_EQ(dump(Json::parse(text)), text);
}

TEST(JsonTextBytes, AreThoseOfTextsAndOfNames) {
  EXPECT_EQ(text_bytes(Json::parse(R"({"ab":"cde","f":["g",1,null],"h":{"i":{}}})")), 9u);
  EXPECT_EQ(text_bytes(Json::parse("[[],{},5,true]")), 0u);
}

TEST(JsonDump, WhatIsNoUtf8IsReplaced) {
  EXPECT_EQ(dump(Json{{"a\xff", "b\xc3"}}), Json::parse("{\"a\xef\xbf\xbd\":\"b\xef\xbf\xbd\"}").dump());
}

}  // namespace
}  // namespace millrace::schemas::json_tree_test
