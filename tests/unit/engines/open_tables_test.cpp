#include "ai/engines/layout/open_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/engines/sheet.h"

namespace millrace::engines {
namespace {

std::vector<Box> rules_at(const std::vector<float>& ys, float from = 50, float to = 550) {
  std::vector<Box> rules;
  for (const float y : ys) rules.push_back({from, y, to, y});
  return rules;
}

std::string read(const Sheet& sheet, const std::vector<Box>& rules) {
  PageText page = sheet.page();
  set_open_tables(rules, page);
  return markdown_of(page);
}

// Three columns, whose cells wrap, between three rules.
Sheet terms() {
  Sheet sheet;
  sheet.put(54, 100, "Term").put(154, 100, "Meaning").put(404, 100, "Example");
  float y = 118;
  for (const std::string term : {"Mill", "Wheel"}) {
    sheet.put(54, y, term)
        .put(154, y, "a house by the water in which one grain after")
        .put(404, y, "the old house at the");
    sheet.put(154, y + kPitch, "the other is ground").put(404, y + kPitch, "river");
    y += 2 * kPitch + 6;
  }
  return sheet;
}

const std::string kTerms =
    "| Term | Meaning | Example |\n| --- | --- | --- |\n"
    "| Mill | a house by the water in which one grain after the other is ground | the old house at the river "
    "|\n"
    "| Wheel | a house by the water in which one grain after the other is ground | the old house at the "
    "river |";

TEST(OpenTables, ARowEndsWhereTheStepIsWiderThanWithinItsCells) {
  EXPECT_EQ(read(terms(), rules_at({96, 114, 182})), kTerms);
}

TEST(OpenTables, NoiseMayBreakARule) {
  std::vector<Box> rules = rules_at({96, 182});
  rules.push_back({62, 114, 250, 115});
  rules.push_back({255, 113.5F, 548, 114.5F});
  EXPECT_EQ(read(terms(), rules), kTerms);
}

TEST(OpenTables, TheHeadMayStandAboveTheFirstRule) { EXPECT_EQ(read(terms(), rules_at({114, 182})), kTerms); }

TEST(OpenTables, EachTotalBelowTheLastRuleIsARow) {
  for (const bool ruled_rows : {false, true}) {
    Sheet sheet;
    sheet.put(54, 100, "Code").put(154, 100, "Article").put(404, 100, "Amount");
    std::vector<float> ys{96, 114};
    for (const std::string name : {"Flour", "Oats", "Rye", "Spelt"}) {
      const float y = ys.back() + 6;
      sheet.put(54, y, "A1").put(154, y, name).put(404, y, "12.50");
      ys.push_back(y + 16);
    }
    const float below = ys.back();
    if (!ruled_rows) ys = {96, 114, below};
    sheet.put(154, below + 6, "Goods").put(404, below + 6, "50.00");
    sheet.put(154, below + 22, "Tax of the goods").put(404, below + 22, "10.00");
    sheet.put(154, below + 38, "Total to pay").put(404, below + 38, "60.00");
    sheet.put(54, below + 70, "Please pay the whole amount within thirty days of the date of this invoice.");
    EXPECT_THAT(read(sheet, rules_at(ys)),
                ::testing::HasSubstr("|  | Goods | 50.00 |\n|  | Tax of the goods | 10.00 |\n"
                                     "|  | Total to pay | 60.00 |\n\nPlease pay"));
  }
}

TEST(OpenTables, SubtotalsBetweenRulesPartNoRows) {
  Sheet sheet;
  sheet.put(304, 84, "2026").put(404, 84, "2025");
  std::vector<float> ys{96};
  for (const std::string group : {"Fixed assets", "Current assets", "Claims"}) {
    float y = ys.back() + 4;
    sheet.put(54, y, group);
    for (const std::string name : {"Land", "Plant"}) {
      y += kPitch;
      sheet.put(54, y, name).put(304, y, "1,204").put(404, y, "1,251");
    }
    ys.push_back(y + 13);
    sheet.put(304, ys.back() + 3, "2,408").put(404, ys.back() + 3, "2,502");
    ys.push_back(ys.back() + 16);
  }
  EXPECT_THAT(
      read(sheet, rules_at(ys)),
      ::testing::StartsWith("|  | 2026 | 2025 |\n| --- | --- | --- |\n| Fixed assets |  |  |\n"
                            "| Land | 1,204 | 1,251 |\n| Plant | 1,204 | 1,251 |\n|  | 2,408 | 2,502 |\n"));
}

TEST(OpenTables, ARowBeginsWithAValueInAColumnOfValues) {
  Sheet sheet;
  sheet.put(54, 100, "Pos").put(104, 100, "Description").put(404, 100, "Total");
  for (int i = 0; i < 3; ++i) {
    const float y = 118 + 2 * kPitch * static_cast<float>(i);
    sheet.put(54, y, std::to_string(i + 1))
        .put(104, y, "flour from the mill that stands by the river")
        .put(404, y, "12.50");
    sheet.put(104, y + kPitch, "and one sack");
  }
  EXPECT_THAT(
      read(sheet, rules_at({96, 114, 200})),
      ::testing::HasSubstr("| 3 | flour from the mill that stands by the river and one sack | 12.50 |"));
}

TEST(OpenTables, LinesThatEndOnPurposeAreKeptApart) {
  Sheet sheet;
  sheet.put(54, 100, "Product").put(304, 100, "Price");
  sheet.put(54, 118, "Memory card").put(304, 118, "278.61");
  sheet.put(54, 118 + kPitch, "Colour: blue").put(54, 118 + 2 * kPitch, "with a case that is made of wood");
  EXPECT_EQ(read(sheet, rules_at({96, 114, 160})),
            "| Product | Price |\n| --- | --- |\n| Memory card<br>Colour: blue with a case that is made of "
            "wood | 278.61 |");
}

TEST(OpenTables, AHeadOverSeveralColumnsIsInTheFirstOfThem) {
  Sheet sheet;
  sheet.put(54, 100, "Group").put(225, 100, "Before").put(425, 100, "After");
  for (float y : {116.0F, 134.0F, 147.0F, 160.0F}) {
    for (float x : {180.0F, 280.0F, 380.0F, 480.0F}) sheet.put(x, y, y < 120 ? "Mean" : "12.5");
    if (y > 120) sheet.put(54, y, "North");
  }
  std::vector<Box> rules = rules_at({96, 130, 176});
  rules.push_back({176, 113, 310, 113});
  rules.push_back({376, 113, 510, 113});
  EXPECT_TRUE(read(sheet, rules)
                  .starts_with("| Group | Before |  | After |  |\n| --- | --- | --- | --- | --- |\n"
                               "|  | Mean | Mean | Mean | Mean |\n| North | 12.5 |"))
      << read(sheet, rules);
}

TEST(OpenTables, TextBetweenRulesIsNone) {
  Sheet prose;
  prose.lines(50, 100, kProse);
  Sheet columns;
  for (float y = 100; y < 500; y += kPitch)
    columns.put(50, y, "the river turns a wheel and that wheel turns")
        .put(320, y, "a stone so every sack of grain is flour");
  for (const Sheet& sheet : {prose, columns}) {
    EXPECT_EQ(read(sheet, rules_at({96, 510})), sheet.markdown());
    EXPECT_EQ(read(sheet, rules_at({80, 96, 510})), sheet.markdown());
  }
  EXPECT_EQ(read(Sheet(), rules_at({96, 110, 510})), "");
}

TEST(OpenTables, RulesOfAnotherExtentAndOneAloneMakeNone) {
  EXPECT_EQ(read(terms(), rules_at({114})), terms().markdown());
  std::vector<Box> rules = rules_at({96, 114});
  rules.push_back({50, 182, 300, 182});
  EXPECT_NE(read(terms(), rules), kTerms);
}

TEST(OpenTables, TwoBelowEachOtherAreTwo) {
  Sheet sheet;
  for (const float top : {100.0F, 300.0F}) {
    for (float y = top; y < top + 40; y += kPitch) sheet.put(54, y, "Flour").put(304, y, "12.50");
  }
  sheet.lines(50, 220, kProse);
  const std::string markdown = read(sheet, rules_at({96, 112, 142, 296, 312, 342}));
  EXPECT_THAT(markdown, ::testing::HasSubstr(kProseText));
  EXPECT_EQ(markdown.find("| --- |"), 0U + std::string("| Flour | 12.50 |\n").size());
  EXPECT_NE(markdown.rfind("| --- |"), markdown.find("| --- |"));
}

TEST(OpenTables, ARuleWhoseEndIsLostInNoiseBelongsToTheOthers) {
  std::vector<Box> rules = rules_at({96, 182});
  rules.push_back({50, 114, 542, 114});
  EXPECT_EQ(read(terms(), rules), kTerms);
}

TEST(OpenTables, ShortWordsInAllColumnsAreRows) {
  Sheet sheet;
  sheet.lines(54, 100, {"Name", "Anna", "Tom", "Lea"}).lines(204, 100, {"Role", "miller", "baker", "smith"});
  EXPECT_EQ(read(sheet, rules_at({98, 111, 151}, 50, 300)),
            "| Name | Role |\n| --- | --- |\n| Anna | miller |\n| Tom | baker |\n| Lea | smith |");
}

Sheet two_blocks() {
  Sheet sheet;
  const std::vector<std::string> left{"Billing address", "Anna Sharp", "61 Mill Road", "54636 Bremen"};
  const std::vector<std::string> right{"Shipping address", "Tom Weber", "88 Hill Road", "74575 Ghent"};
  return sheet.lines(50, 100, left).lines(330, 100, right);
}

TEST(SideBlocks, AddressesSideBySideAreReadOneAfterTheOther) {
  EXPECT_EQ(two_blocks().markdown(),
            "Billing address  \nAnna Sharp  \n61 Mill Road  \n54636 Bremen\n\n"
            "Shipping address  \nTom Weber  \n88 Hill Road  \n74575 Ghent");
}

TEST(SideBlocks, AHeadOverCodesIsATable) {
  Sheet codes;
  codes.lines(50, 100, {"Part", "AB-12", "AB-13"}).lines(200, 100, {"Drawing", "D-7", "D-8"});
  codes.lines(350, 100, {"Room", "A1", "A2"});
  EXPECT_THAT(codes.markdown(), ::testing::HasSubstr("| AB-13 | D-8 | A2 |"));
}

TEST(SideBlocks, SingleWordsAreATableAndNamesAreNot) {
  Sheet words;
  words.lines(50, 100, {"Colour", "red", "yellow"}).lines(200, 100, {"Fruit", "apple", "banana"});
  EXPECT_EQ(words.markdown(), "| Colour | Fruit |\n| --- | --- |\n| red | apple |\n| yellow | banana |");
  Sheet names;
  names.lines(50, 100, {"Buyer", "Anna Sharp", "Director"}).lines(250, 100, {"Seller", "Tom Weber", "Owner"});
  EXPECT_EQ(names.markdown(), "Buyer  \nAnna Sharp  \nDirector\n\nSeller  \nTom Weber  \nOwner");
}

TEST(SideBlocks, AColumnOfSingleWordsNamesWhatIsBesideIt) {
  Sheet two;
  two.lines(50, 100, {"From", "To"}).lines(150, 100, {"Jane Doe", "The Board"});
  EXPECT_EQ(two.markdown(), "From Jane Doe  \nTo The Board");
  Sheet three;
  three.lines(50, 100, {"From", "To", "Subject"}).lines(150, 100, {"Jane Doe", "The Board", "Budget"});
  EXPECT_EQ(three.markdown(), "| From | Jane Doe |\n| --- | --- |\n| To | The Board |\n| Subject | Budget |");
  Sheet names;
  names.lines(50, 100, {"Anna Sharp", "Director"}).lines(250, 100, {"Tom Weber", "Owner"});
  EXPECT_EQ(names.markdown(), "Anna Sharp  \nDirector\n\nTom Weber  \nOwner");
}

TEST(SideBlocks, LabelsWithValuesAreLines) {
  Sheet sheet;
  sheet.lines(50, 100, {"Name:", "Town:", "Date of birth:"})
      .lines(200, 100, {"Anna Sharp", "Ghent", "12.03.1980"});
  EXPECT_EQ(sheet.markdown(), "Name: Anna Sharp  \nTown: Ghent  \nDate of birth: 12.03.1980");
}

TEST(SideBlocks, TablesSideBySideAreTwo) {
  Sheet sheet;
  for (float y = 100; y < 150; y += kPitch) {
    sheet.put(50, y, "Flour").put(150, y, "12").put(330, y, "Grain");
    sheet.put(430, y, "77");
  }
  sheet.put(330, 152, "Oats").put(430, 152, "7");
  EXPECT_EQ(sheet.markdown().find("| Flour | 12 |\n"), 0U) << sheet.markdown();
  EXPECT_THAT(sheet.markdown(), ::testing::HasSubstr("\n\n| Grain | 77 |\n| --- | --- |\n"));
}

}  // namespace
}  // namespace millrace::engines
