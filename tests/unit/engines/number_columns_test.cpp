#include "ai/engines/layout/number_columns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ai/engines/layout/number_shape.h"
#include "tests/unit/engines/sheet.h"

namespace millrace::engines {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<std::vector<std::string>> columns_of(const Sheet& sheet) {
  std::vector<std::vector<std::string>> all;
  const auto lines = lines_of_page(sheet.page(), kLetters);
  for (const NumberColumn& column : number_columns(lines, kLetters)) {
    all.emplace_back();
    for (const ColumnCell& cell : column.cells) all.back().push_back(cell.text());
  }
  return all;
}

// An item and two numbers in each line.
Sheet prices(const std::vector<std::string>& counts, const std::vector<std::string>& amounts) {
  Sheet sheet;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const float y = 100 + static_cast<float>(i) * kPitch;
    sheet.put(50, y, "Wheel of the mill").put(300, y, counts[i]).put(400, y, amounts[i]);
  }
  return sheet;
}

TEST(NumberColumns, NumbersBelowEachOtherAreOne) {
  EXPECT_THAT(columns_of(prices({"1", "2", "3"}, {"1.10", "2.20", "3.30"})),
              ElementsAre(ElementsAre("1", "2", "3"), ElementsAre("1.10", "2.20", "3.30")));
}

TEST(NumberColumns, ATextAmongTheNumbersBelongsToThem) {
  EXPECT_THAT(columns_of(prices({"9", "8", "ll", "7"}, {"a", "b", "c", "d"})),
              ElementsAre(ElementsAre("9", "8", "ll", "7")));
}

TEST(NumberColumns, TwoNumbersAreNone) { EXPECT_THAT(columns_of(prices({"1", "2"}, {"a", "b"})), IsEmpty()); }

TEST(NumberColumns, TheNumbersOfAListAreNone) {
  Sheet sheet;
  for (int i = 0; i < 5; ++i)
    sheet.put(50, 100 + static_cast<float>(i) * kPitch, std::to_string(i + 1) + ".")
        .put(80, 100 + static_cast<float>(i) * kPitch, "an item");
  EXPECT_THAT(columns_of(sheet), IsEmpty());
}

TEST(NumberColumns, NumbersWithoutTextBesideThemAreNone) {
  EXPECT_THAT(columns_of(Sheet().lines(50, 100, {"1990", "1991", "1992", "1993"})), IsEmpty());
}

TEST(NumberColumns, APageWithoutWordsHasNone) { EXPECT_THAT(columns_of(Sheet()), IsEmpty()); }

std::vector<std::vector<std::string>> misread_columns_of(const Sheet& sheet) {
  std::vector<std::vector<std::string>> all;
  const auto lines = lines_of_page(sheet.page(), kLetters);
  for (const NumberColumn& column : misread_columns(lines, kLetters, number_columns(lines, kLetters))) {
    all.emplace_back();
    for (const ColumnCell& cell : column.cells) all.back().push_back(cell.text());
  }
  return all;
}

TEST(MisreadColumns, AUnitThatRepeatsAfterSignsLikeDigitsMakesOne) {
  EXPECT_THAT(misread_columns_of(prices({"Oms", "1lms", "Ooms", "Sms"}, {"a", "b", "c", "d"})),
              ElementsAre(ElementsAre("Oms", "1lms", "Ooms", "Sms")));
  for (const std::string word : {"OK", "GBP", "SEK", "Sold", "Stk", "Bus"}) {
    EXPECT_THAT(misread_columns_of(prices({word, word, word, word}, {"Rye", "Wheat", "Oats", "Malt"})),
                IsEmpty())
        << word;
  }
}

TEST(MisreadColumns, SignsLikeDigitsBesideANumberMakeOne) {
  EXPECT_THAT(misread_columns_of(prices({"1", "cc}", "fo)", "e"}, {"wd", "wp", "wk", "wv"})),
              ElementsAre(ElementsAre("1", "cc}", "fo)", "e")));
}

TEST(MisreadColumns, TheLettersOfAListBesideOtherTextAreNone) {
  EXPECT_THAT(misread_columns_of(prices({"a)", "b)", "c)", "d)"}, {"Rye", "Wheat", "Oats", "Malt"})),
              IsEmpty());
  EXPECT_THAT(misread_columns_of(prices({"i.", "ii.", "iii."}, {"Rye", "Wheat", "Oats"})), IsEmpty());
}

TEST(MisreadColumns, ColumnsOfNumbersAndOfWordsAreNone) {
  EXPECT_THAT(misread_columns_of(prices({"1", "2", "3", "Oms"}, {"Bolt", "Oslo", "Sand", "Gate"})),
              IsEmpty());
  EXPECT_THAT(misread_columns_of(prices({"A", "B", "A", "B"}, {"IL", "OH", "ID", "OK"})), IsEmpty());
  EXPECT_THAT(misread_columns_of(prices({"A", "B", "1", "B"}, {"Rye", "Wheat", "Oats", "Malt"})), IsEmpty());
  EXPECT_THAT(misread_columns_of(prices({"S", "L", "38", "S"}, {"Rye", "Wheat", "Oats", "Malt"})), IsEmpty());
}

TEST(NumberShape, ABracketWithoutItsOtherHalfDoesNotFit) {
  const NumberShape shape({"0)", "1", "(3)", "0)", "10"});
  EXPECT_FALSE(shape.fits("0)"));
  EXPECT_TRUE(shape.fits("(3)"));
}

TEST(NumberShape, LettersThatAreLikeNoDigitFit) {
  EXPECT_TRUE(NumberShape({"2h 30m", "1h 15m", "3h 10m", "2h 45m"}).fits("2h 30m"));
  EXPECT_TRUE(NumberShape({"10x20mm", "15x30mm", "20x40mm"}).fits("10x20mm"));
}

TEST(NumberShape, ALetterIsAMisreadingOfTheDigitThatIsLikeIt) {
  EXPECT_TRUE(is_misreading_of("Oms", "0"));
  EXPECT_TRUE(is_misreading_of("1lms", "11"));
  EXPECT_FALSE(is_misreading_of("Sms", "0"));
  EXPECT_FALSE(is_misreading_of("A", "4")) << "a digit that may as well be the letter has to be sure";
  EXPECT_FALSE(is_misreading_of("", "0"));
}

TEST(NumberShape, ALetterBeforeTheUnitDoesNotFit) {
  const NumberShape shape({"1lms", "1lms", "5ms", "20ms", "7ms"});
  EXPECT_FALSE(shape.fits("1lms"));
  EXPECT_TRUE(shape.fits("20ms"));
}

TEST(TableRegions, HoldTheHeadAndTheLinesOfTheLastCell) {
  Sheet sheet = prices({"1", "2", "3"}, {"1.10", "2.20", "3.30"});
  sheet.put(50, 100 - 1.5F * kPitch, "Item").put(300, 100 - 1.5F * kPitch, "Count");
  sheet.put(50, 600, "Far below there is a line of prose.");
  const auto regions = table_regions(sheet.page(), {});
  ASSERT_THAT(regions, SizeIs(1));
  EXPECT_LT(regions[0].box.y0, 100 - kPitch);
  EXPECT_LT(regions[0].box.y1, 200);
  EXPECT_LT(regions[0].box.x0, 50);
  EXPECT_GT(regions[0].box.x1, 420);
  EXPECT_THAT(regions[0].columns, SizeIs(2));
}

TEST(TableRegions, LiesBetweenRulesOfOneExtent) {
  Sheet sheet;
  sheet.put(54, 104, "Term").put(254, 104, "Meaning");
  sheet.put(54, 124, "Mill").put(254, 124, "a house by the water");
  sheet.put(54, 140, "Wheel").put(254, 140, "it turns");
  const auto regions =
      table_regions(sheet.page(), {{50, 100, 550, 101}, {50, 118, 550, 119}, {50, 154, 550, 155}});
  ASSERT_THAT(regions, SizeIs(1));
  EXPECT_THAT(regions[0].columns, IsEmpty());
}

TEST(TableRegions, ProseHasNone) {
  Sheet sheet;
  for (int i = 0; i < 20; ++i) {
    const float y = 100 + static_cast<float>(i) * kPitch;
    sheet.put(50, y, "in 1990 the mill had 3 wheels and the")
        .put(320, y, "river of 1991 turned all 12 of them");
  }
  EXPECT_THAT(table_regions(sheet.page(), {}), IsEmpty());
}

TEST(NumberShape, KnowsTheDecimalsOfItsColumn) {
  const NumberShape shape({"1,204.50", "3.25", "457", "88.10"});
  EXPECT_TRUE(shape.fits("4.57"));
  EXPECT_FALSE(shape.fits("457"));
  EXPECT_FALSE(shape.fits("4,57"));
  EXPECT_FALSE(shape.fits("4.5"));
  EXPECT_EQ(shape.point(), '.');
}

TEST(NumberShape, TheThousandsAreNoDecimals) {
  EXPECT_EQ(decimals_of("1,204"), 0U);
  EXPECT_EQ(decimals_of("1,204.5"), 1U);
  EXPECT_EQ(decimals_of("1.204,50"), 2U);
  EXPECT_EQ(decimals_of(""), 0U);
  EXPECT_EQ(decimals_of("."), 0U);
}

TEST(NumberShape, AUnitBelongsToAColumnThatHasIt) {
  EXPECT_TRUE(NumberShape({"4 ms", "8 ms", "0 ms"}).fits("12 ms"));
  EXPECT_FALSE(NumberShape({"4", "8", "0"}).fits("12 ms"));
}

TEST(NumberShape, TheSpaceBeforeAUnitIsThatOfTheColumn) {
  EXPECT_EQ(NumberShape({"4 ms", "8 ms", "12 ms", "0ms"}).spaced("0ms"), "0 ms");
  EXPECT_EQ(NumberShape({"4ms", "8ms", "12ms", "0 ms"}).spaced("0 ms"), "0ms");
  EXPECT_EQ(NumberShape({"4 ms", "8 ms", "12 ms"}).spaced("7"), "7");
  EXPECT_EQ(NumberShape({"4 ms", "8 ms", "12 ms"}).spaced("ms"), "ms");
  EXPECT_EQ(NumberShape({"4", "8", "12"}).spaced("7"), "7");
  EXPECT_EQ(NumberShape({"120 s", "135 s", "98 s"}).spaced("varies"), "varies") << "a word, not a unit";
  EXPECT_EQ(NumberShape(std::vector<std::string>{}).spaced("7 ms"), "7 ms");
}

TEST(NumberShape, AHeadIsLikeItsNeighbour) {
  EXPECT_EQ(misread_like("ps0", "p99"), 1U);
  EXPECT_EQ(misread_like("p50", "p99"), 0U);
  EXPECT_EQ(misread_like("pan", "p99"), 0U);
  EXPECT_EQ(misread_like("ps0", "pos"), 0U);
  EXPECT_EQ(misread_like("", ""), 0U);
}

TEST(NumberShape, AWordIsNoMisreadNumber) {
  const NumberShape shape({"4", "8", "0"});
  EXPECT_TRUE(shape.may_be_misread("ll"));
  EXPECT_TRUE(shape.may_be_misread("§3"));
  EXPECT_FALSE(shape.may_be_misread("none"));
  EXPECT_FALSE(shape.may_be_misread("SOLD")) << "a word of letters like digits";
  EXPECT_FALSE(shape.may_be_misread("n/a"));
}

TEST(NumberShape, TakesTheMarksOfThePicture) {
  EXPECT_EQ(with_marks("457", {{1, '.'}}), "4.57");
  EXPECT_EQ(with_marks("1204.50", {{1, ','}, {4, '.'}}), "1,204.50");
  EXPECT_EQ(with_marks("4.57", {{1, '.'}}), "4.57");
  EXPECT_EQ(with_marks("457", {{0, '.'}, {3, '.'}}), "457");
  EXPECT_EQ(with_marks("", {{1, '.'}}), "");
}

TEST(Codes, AreCapitalsAndDigits) {
  EXPECT_TRUE(is_code("B12"));
  EXPECT_TRUE(is_code("AB-7"));
  EXPECT_FALSE(is_code("AS"));
  EXPECT_FALSE(is_code("12"));
  EXPECT_FALSE(is_code(""));
}

TEST(Codes, AWordIsMisreadOnlyAmongCodes) {
  EXPECT_EQ(code_prefix({"A1", "B2", "AS", "C4"}), 1U);
  EXPECT_EQ(code_prefix({"A1", "wheel", "mill", "C4"}), 0U);
  EXPECT_TRUE(may_be_code("AS", 1));
  EXPECT_TRUE(may_be_code("Bl", 1));
  EXPECT_TRUE(may_be_code("D8&", 1));
  EXPECT_FALSE(may_be_code("A5", 1));
  EXPECT_FALSE(may_be_code("At", 1));
  EXPECT_FALSE(may_be_code("mill", 1));
}

}  // namespace
}  // namespace millrace::engines
