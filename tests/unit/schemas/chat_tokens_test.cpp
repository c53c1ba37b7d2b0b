#include "schemas/chat/chat_tokens.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

namespace millrace::schemas::chat_tokens_test {
namespace {

// Generated texts and their token counts in OpenAI's encodings (computed with gpt-tokenizer 4 of npm).
struct Counted {
  std::string_view unit;
  int times;
  std::int64_t cl100k, o200k;
  bool is_estimated_well = true;

  std::string text() const {
    std::string out;
    for (int i = 0; i < times; ++i) out += unit;
    return out;
  }
};

constexpr Counted kCounted[] = {
    {"The quick brown fox jumps over the lazy dog. ", 800, 8001, 8001},
    {"Мельница мелет зерно, и вода течёт по жёлобу. ", 320, 8001, 5761},
    {"Їжак біля річки їсть хліб; ґанок стоїть. ", 240, 7201, 5520, false},
    {"Die Mühle mahlt größere Körner, während Wasser über das Wehr fließt. ", 350, 8051, 6301},
    {"Το νερό ρέει και ο μύλος αλέθει. ", 270, 7831, 4051},
    {"水车磨谷物，水沿着水槽流下。人们每天早上来这里取面粉。", 220, 7920, 5500},
    {"水車は穀物を挽き、水は樋を流れる。人々は毎朝ここに来ます。", 210, 7770, 5880},
    {"물레방아는 곡식을 빻고 물은 수로를 따라 흐른다. ", 240, 7921, 5041},
    {"चक्की अनाज पीसती है और पानी नाली से बहता है। ", 180, 7741, 3241},
    {"الطاحونة تطحن الحبوب والماء يجري في القناة. ", 250, 7751, 3502},
    {"| name | value | unit |\n| --- | --- | --- |\n| speed | 12 | m/s |\n", 340, 7820, 7820},
    {"for (int i = 0; i < n; ++i) {\n    if (a[i] != NULL && b->next == 0) return -1;\n}\n", 220, 8140, 8140},
    {"1.2 Introduction .......................................................... 17\n", 800, 8000, 8000},
    {"-", 500'000, 7812, 7812},
    {"=", 200'000, 3125, 3125},
    {"─", 30'000, 3750, 1875},
    {"----------------------------------------\n", 4000, 8000, 8000},
    {"******** ======== ", 2500, 7501, 7501, false},
    {" ", 5000, 40, 40},
    {"\n", 3000, 95, 188},
    {"\r\n", 2000, 500, 500, false},
    {"\t\tx\n", 2500, 7500, 7500, false},
    {R"({"id":12,"name":"mill","tags":["a","b"],"ok":true},)"
     "\n",
     420, 7980, 8400},
    {R"(<div class="row"><a href="/x?y=1&z=2">Go</a></div>)"
     "\n",
     330, 7920, 7920},
    {"SELECT * FROM jobs WHERE id = 'x' AND n >= 10;\r\n", 500, 8000, 8000},
    {"https://a.example/b/c_d/e-f.html#g ", 700, 7701, 7701},
    {"2024-11-23T08:24:22Z,3.14159;", 420, 7980, 7980},
    {"1234567890 ", 1600, 8000, 8000},
    {"a3f5e9b17c2d4406 ", 600, 7801, 7801},
    {"don't I'll we've it's ''s x''t ", 600, 7801, 5401},
    {"snake_case_name camelCaseName ", 1300, 7801, 7801},
    {"internationalization ", 2700, 5401, 5401},
    {"a", 5000, 625, 625},
    {"QmFzZTY0IGlzIGEgZ3JvdXAgb2YgYmluYXJ5LXRvLXRleHQ", 220, 7920, 7260, false},
    {"é-é--é — – x— 1²3 ½ a\u00A0 \u00A0 b × ÷a и\u0301 ", 300, 7501, 6901},
    {"😀🎉 ok ", 1600, 8002, 6401},
    {"word ", 8192, 8193, 8193},
    {"});\n\n//a", 1000, 3000, 2000},
};

TEST(LeastTokens, OfNoTextAreMoreThanATokenizerCounts) {
  for (const Counted& each : kCounted) {
    const std::int64_t least = least_tokens(each.text());
    EXPECT_LE(least, std::min(each.cl100k, each.o200k)) << each.unit;
    EXPECT_GE(least, 1) << each.unit;
  }
}

TEST(LeastTokens, OfProseAndTablesAreNearToTheCount) {
  for (const std::size_t row : {0, 10, 11, 22, 36}) {
    const Counted& each = kCounted[row];
    EXPECT_GE(least_tokens(each.text()) * 5, each.cl100k * 4) << each.unit;
  }
}

TEST(LeastTokens, OfWhateverBytesAreAtLeastOneOfEach128) {
  EXPECT_EQ(least_tokens(""), 0);
  EXPECT_EQ(least_tokens(" "), 1);
  EXPECT_EQ(least_tokens("\xFF"), 1);
  EXPECT_EQ(least_tokens(std::string(1280, '\xFF')), 10);
  EXPECT_EQ(least_tokens(std::string(1280, 'a')), 10);
}

TEST(EstimatedTokens, AreAtLeastOneOfATextAndNeverMoreThanItsBytes) {
  EXPECT_EQ(estimated_tokens(""), 0);
  for (const std::string& text : {std::string(" "), std::string("a"), std::string("\xE4\xBD\xA0"),
                                  std::string("....!!!"), std::string(1000, ' '), std::string(50, '\xFF')}) {
    EXPECT_GE(estimated_tokens(text), 1) << text;
    EXPECT_LE(estimated_tokens(text), static_cast<std::int64_t>(text.size())) << text;
  }
}

TEST(EstimatedTokens, AreNotBelowATokenizersByMoreThanAFifth) {
  for (const Counted& each : kCounted) {
    if (!each.is_estimated_well) continue;
    EXPECT_GE(estimated_tokens(each.text()) * 5, each.cl100k * 4) << each.unit;
  }
}

TEST(EstimatedTokens, AreNeverTenTimesTheCount) {
  for (const Counted& each : kCounted)
    EXPECT_LE(estimated_tokens(each.text()), each.cl100k * 10) << each.unit;
}

}  // namespace
}  // namespace millrace::schemas::chat_tokens_test
