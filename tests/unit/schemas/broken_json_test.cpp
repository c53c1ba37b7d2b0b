#include "schemas/json/broken_json.h"

#include <string>

#include <gtest/gtest.h>

#include "schemas/json/json_body.h"
#include "schemas/json/json_tree.h"

namespace millrace::schemas::broken_json_test {
namespace {

constexpr int kDepth = 8;
constexpr std::string_view kSmile = "😀";
const std::string kHigh = "\xED\xA0\xBD", kLow = "\xED\xB8\x80";  // the halves of kSmile, raw

Json kept(std::string_view text) {
  auto tree = parse_broken_json(text, kDepth);
  EXPECT_TRUE(tree) << text;
  return tree.value_or(Json());
}

TEST(BrokenJson, ValidTextIsUtf8WithoutLoneSurrogates) {
  for (const std::string_view text :
       {"", "{}", R"({"a":"\ud83d\ude00"})", R"("\\ud83d")", R"("grüße 😀 \n\u00e9")", R"("\ufdd0")",
        "not json", "\"\\", R"("\u12)", R"("\uD83D\uDE00")"})
    EXPECT_TRUE(is_valid_utf8_json(text)) << text;
  for (const std::string& text :
       {std::string(R"("\ud83d")"), std::string(R"("\ude00")"), std::string(R"("\ud83d\ud83d\ude00")"),
        std::string(R"("\\\ud83d")"), std::string("\"\xff\""), "\"" + kHigh + "\"",
        std::string("\"\xf0\x9f\""), std::string("\"\xc0\xaf\""), std::string(R"("\ud83dx\ude00")"),
        std::string(R"("\ud83d\u0041")")})
    EXPECT_FALSE(is_valid_utf8_json(text)) << text;
}

TEST(BrokenJson, RepairedTextIsReadByTheParser) {
  const auto repaired = [](std::string_view text) {
    const std::string valid = repair_utf8_json(text);
    EXPECT_TRUE(is_valid_utf8_json(valid)) << text;
    return parse_json(valid, kDepth).value_or(Json("no JSON"));
  };
  EXPECT_EQ(repaired(R"({"a\ud83d":["x\ude00y","\ud83d\ude00"]})"), Json::parse(R"({"a�":["x�y","😀"]})"));
  EXPECT_EQ(repaired("[\"caf\xe9 \xf0\x9f\"]"), Json::parse(R"(["caf� �"])"));
  EXPECT_EQ(repaired("[\"" + kHigh + kLow + kHigh + "x\"]"), Json::parse(R"(["😀�x"])"));
  EXPECT_EQ(repaired(R"("\\ud83d\\")"), Json(R"(\ud83d\)"));
  EXPECT_EQ(repaired("\xff{}"), Json("no JSON"));
  EXPECT_EQ(repaired(R"({"a":"\ud83d)"), Json("no JSON"));
  EXPECT_EQ(repaired(R"("\ud83d\)"), Json("no JSON"));
}

TEST(BrokenJson, BrokenTextKeepsItsBytes) {
  EXPECT_EQ(kept(R"({"a":"x\ud83d","b":"\ude00y"})")["a"], "x" + kHigh);
  EXPECT_EQ(kept(R"({"a":"x\ud83d","b":"\ude00y"})")["b"], kLow + "y");
  EXPECT_EQ(kept("[\"a\xf0\x9f\",\"\x98\x80z\",\"\xff\xc0\x7f\"]"),
            Json::array({"a\xf0\x9f", "\x98\x80z", "\xff\xc0\x7f"}));
  EXPECT_TRUE(kept("{\"\xfe\":1}").contains("\xfe"));
  EXPECT_EQ(kept(R"(["\ud83d\ude00","\ud800"])")[0], kSmile);
}

TEST(BrokenJson, TheMarkOfBrokenBytesCannotBeForged) {
  EXPECT_EQ(kept("[\"\xff\",\"\\ufdd0\xC7\xBF\",\"\xEF\xB7\x90\xC7\xBF\"]"),
            Json::array({"\xff", "\xEF\xBF\xBD\xC7\xBF", "\xEF\xBF\xBD\xC7\xBF"}));
}

TEST(BrokenJson, RepairedTextIsUtf8) {
  EXPECT_EQ(repair_utf8(kHigh + kLow), kSmile);
  EXPECT_EQ(repair_utf8(kLow + kHigh), "��");
  EXPECT_EQ(repair_utf8("a\xf0\x9f" + std::string("b")), "a�b");
  EXPECT_EQ(repair_utf8("\xf0\x9f\x98\x80"), kSmile);
  EXPECT_EQ(repair_utf8("\xf5\x80"), "��");
  EXPECT_EQ(repair_utf8("\xed"), "�");
  EXPECT_EQ(repair_utf8(""), "");
  Json tree{{"\xff", Json::array({kHigh, 1, nullptr, "valid"})}};
  repair_texts(tree);
  EXPECT_EQ(dump(tree), R"({"�":["�",1,null,"valid"]})");
}

TEST(BrokenJson, AnIncompleteSuffixIsWhatMoreBytesCanComplete) {
  EXPECT_EQ(incomplete_suffix("a" + kHigh), 3u);
  EXPECT_EQ(incomplete_suffix("a\xf0"), 1u);
  EXPECT_EQ(incomplete_suffix("a\xf0\x9f"), 2u);
  EXPECT_EQ(incomplete_suffix("a\xf0\x9f\x98"), 3u);
  EXPECT_EQ(incomplete_suffix("\xc3"), 1u);
  for (const std::string& text :
       {std::string(), std::string("a"), std::string(kSmile), kLow, std::string("\xff"),
        std::string("\x80\x80\x80\x80"), std::string("\xe0\x80"), "a" + kHigh + "b"})
    EXPECT_EQ(incomplete_suffix(text), 0u) << text;
}

}  // namespace
}  // namespace millrace::schemas::broken_json_test
