#include "platform/base/utf8.h"

#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace millrace::base {
namespace {

TEST(Utf8, OnlyTheBeginningOfACharacterIsIncomplete) {
  const std::pair<std::string, std::size_t> table[] = {
      {"", 0},
      {"abc", 0},
      {"\xc3", 1},
      {"a\xc3", 1},
      {"a\xc3\xa4", 0},
      {"\xe2\x82", 2},
      {"\xe2\x82\xac", 0},
      {"\xf0\x9f\x98", 3},
      {"x\xf0\x9f\x98", 3},
      {"\xf0\x9f\x98\x80", 0},
      {"\x80\x80\x80", 0},  // no character begins with this byte
      {"\xff", 0},
      {"\xc1", 0},
      {"\xe0\x80", 0},  // an overlong encoding
      {"\xed\xa0", 0},  // a surrogate
      {"\xf4\x90", 0},  // above U+10FFFF
      {"\xf0\x9f\x41", 0},
  };
  for (const auto& [bytes, count] : table)
    EXPECT_EQ(incomplete_utf8(bytes), count) << ::testing::PrintToString(bytes);
}

TEST(Utf8, ABrokenCharacterHasTheLengthOfItsValidBeginning) {
  EXPECT_TRUE(utf8_character("a").is_whole());
  EXPECT_EQ(utf8_character("\xf0\x9f\x98\x80z").size, 4u);
  EXPECT_EQ(utf8_character("\xf0\x9fz").size, 2u);
  EXPECT_EQ(utf8_character("\xf0\x9fz").needed, 4u);
  EXPECT_EQ(utf8_character("\xff").size, 1u);
  EXPECT_EQ(utf8_character("\xff").needed, 0u);
}

}  // namespace
}  // namespace millrace::base
