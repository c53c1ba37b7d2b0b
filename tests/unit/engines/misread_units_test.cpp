#include "ai/engines/layout/misread_units.h"

#include <gtest/gtest.h>

namespace millrace::engines {
namespace {

// Three digits of a line and, after `gap`, a last glyph that ends `below` under them.
std::vector<Box> glyphs(float gap, float below) {
  return {{0, 0, 10, 20}, {13, 0, 23, 20}, {33, 0, 43, 20}, {43 + gap, 4, 53 + gap, 20 + below}};
}
const std::vector<NumberMark> kPoint{{2, '.'}};

TEST(MisreadUnits, AColumnThatEndsInOneDigitMayHaveAUnit) {
  EXPECT_EQ(common_last_digit({"95.89", "69.19", "8.79g", "61.09"}), '9');
  EXPECT_EQ(common_last_digit({"84.1g", "59.79", "54.0 g", "64.39"}), '9');
  EXPECT_EQ(common_last_digit({"84.1g", "59.7g", "54.0 g", "64.3g"}), 0) << "all units were read";
  EXPECT_EQ(common_last_digit({"251", "101", "51", "1501"}), '1');
  EXPECT_EQ(common_last_digit({"95.89", "69.12", "8.73", "61.09"}), 0);
  EXPECT_EQ(common_last_digit({"95.85", "69.15", "8.75", "61.05"}), 0) << "no unit is like a 5";
  EXPECT_EQ(common_last_digit({"95.89", "69.19"}), 0) << "too few";
}

TEST(MisreadUnits, ANumberWhoseUnitWasReadDoesNotEndInTheDigit) {
  EXPECT_TRUE(ends_in_digit("95.89", '9'));
  EXPECT_TRUE(ends_in_digit("8.79g", '9'));
  EXPECT_FALSE(ends_in_digit("8.7 g", '9'));
  EXPECT_FALSE(ends_in_digit("none", '9'));
}

TEST(MisreadUnits, AGlyphBelowTheDigitsIsAUnit) {
  EXPECT_EQ(ends_in_unit("95.89", glyphs(3, 5), kPoint), true);
  EXPECT_EQ(ends_in_unit("95.89", glyphs(3, 0), kPoint), false) << "a price that ends in 9";
}

TEST(MisreadUnits, AGlyphThatStandsApartIsAUnit) {
  EXPECT_EQ(ends_in_unit("9581", glyphs(11, 0), {}), true);
  EXPECT_EQ(ends_in_unit("9581", glyphs(11, 0), {{3, '.'}}), false) << "a point stands in the gap";
  EXPECT_EQ(ends_in_unit("9581", glyphs(5, 0), {}), false);
}

TEST(MisreadUnits, DigitsThatAllReachBelowAreNone) {
  std::vector<Box> old = glyphs(3, 5);
  for (Box& box : old) box.y1 = 25;
  EXPECT_EQ(ends_in_unit("95.89", old, kPoint), false);
}

TEST(MisreadUnits, AnOldStyleNineIsNone) {
  std::vector<Box> price = glyphs(3, 6);
  for (Box& box : price) box.y0 = 6;  // 1.29: all as low as an x
  EXPECT_EQ(ends_in_unit("1.529", price, kPoint), false);
  price[0].y0 = 0;  // 8.29
  EXPECT_EQ(ends_in_unit("8.529", price, kPoint), false);
}

TEST(MisreadUnits, AnotherNumberOfGlyphsTellsNothing) {
  EXPECT_EQ(ends_in_unit("5.89", glyphs(11, 5), kPoint), std::nullopt);
}

TEST(MisreadUnits, TheUnitTakesThePlaceOfTheDigit) {
  EXPECT_EQ(with_last_as_unit("95.89", true), "95.8 g");
  EXPECT_EQ(with_last_as_unit("8.79g", false), "8.7g");
  EXPECT_EQ(with_last_as_unit("251", true), "25 l");
}

TEST(MisreadUnits, LettersOfCodesAreNoMisreadDigits) {
  const NumberShape codes({"4C-351", "9H-700", "2A-651", "6B-596"});
  EXPECT_FALSE(codes.may_be_misread("2A-651"));
  const NumberShape numbers({"4351", "9700", "2651", "6596"});
  EXPECT_TRUE(numbers.may_be_misread("2A51"));
}

TEST(MisreadUnits, APowerOfTenPerLitreIsNoAmount) {
  EXPECT_EQ(with_powers_of_ten("109/L"), "10⁹/L");
  EXPECT_EQ(with_powers_of_ten("x10°/L"), "x10⁹/L");
  EXPECT_EQ(with_powers_of_ten("1012/L"), "10¹²/L");
  EXPECT_EQ(with_powers_of_ten("5109/L"), "5109/L");
  EXPECT_EQ(with_powers_of_ten("109"), "109");
}

TEST(MisreadUnits, AUnitOfMillionthsBeginsWithALetterLikeTheSign) {
  for (const char* text : {"pg", "50yg", "umol/L", "25um", "uF,"}) EXPECT_TRUE(may_be_micro(text)) << text;
  for (const char* text : {"um", "us", "page", "up", "g", "50mg"}) EXPECT_FALSE(may_be_micro(text)) << text;
  EXPECT_EQ(with_micro("250pg/L"), "250µg/L");
}

TEST(MisreadUnits, AnOhmIsReadAsALetterBehindANumberOrAPrefix) {
  for (const char* text : {"Q", "470O", "kQ", "4.7MQ", "O,"}) EXPECT_TRUE(may_be_ohm(text)) << text;
  for (const char* text : {"FAQ", "NO", "470", "CO"}) EXPECT_FALSE(may_be_ohm(text)) << text;
  EXPECT_EQ(with_ohm("4.7kQ"), "4.7kΩ");
  EXPECT_EQ(with_ohm("O,"), "Ω,");
}

}  // namespace
}  // namespace millrace::engines
