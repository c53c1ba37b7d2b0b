#include "ai/engines/layout/table_mends.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ai/engines/host/pictures/dashed_rules.h"
#include "ai/engines/layout/markers.h"
#include "tests/unit/engines/sheet.h"

namespace millrace::engines::table_mends_test {
namespace {

using ::testing::HasSubstr;
using Rows = std::vector<std::vector<std::string>>;

Rows joined_columns(Rows cells) {
  Table table{cells.size(), std::move(cells)};
  join_split_columns(table);
  return table.cells;
}

Rows joined_rows(Rows cells) {
  join_late_values(cells);
  return cells;
}

TEST(TableMends, AHeadAndTheValuesBesideItAreOneColumn) {
  EXPECT_EQ(
      joined_columns({{"Test", "Result", "", "Unit"}, {"Iron", "", "9", "mg"}, {"Zinc", "", "12", "mg"}}),
      (Rows{{"Test", "Result", "Unit"}, {"Iron", "9", "mg"}, {"Zinc", "12", "mg"}}));
  EXPECT_EQ(joined_columns({{"Test", "", "Result"}, {"Iron", "9", ""}}),
            (Rows{{"Test", "Result"}, {"Iron", "9"}}));
}

TEST(TableMends, AColumnWithAHeadAndValuesOfItsOwnStays) {
  const Rows full{{"Test", "Result", ""}, {"Iron", "9", "high"}};
  EXPECT_EQ(joined_columns(full), full);
  const Rows notes{{"Test", "Result", "Remarks"}, {"Iron", "9", ""}};
  EXPECT_EQ(joined_columns(notes), notes);
}

TEST(TableMends, TheAmountBesideTheLastLineOfAnEntryIsTheEntrys) {
  EXPECT_EQ(joined_rows({{"Date", "Entry", "Amount"},
                         {"1 May", "Debit Water", ""},
                         {"", "Contract 9", "84"},
                         {"3 May", "Rent Flat", ""},
                         {"", "Number 3", "650"},
                         {"", "Balance", "566"}}),
            (Rows{{"Date", "Entry", "Amount"},
                  {"1 May", "Debit Water Contract 9", "84"},
                  {"3 May", "Rent Flat Number 3", "650"},
                  {"", "Balance", "566"}}));
}

TEST(TableMends, RowsOfAGroupAndSidesOfAJournalStayRows) {
  const Rows groups{{"Town", "Mill", "Bags"},
                    {"Weir", "Old", "3"},
                    {"", "New", "5"},
                    {"Lock", "Low", "2"},
                    {"", "Top", "7"}};
  EXPECT_EQ(joined_rows(groups), groups);
  const Rows journal{{"Date", "Account", "Debit", "Credit"},
                     {"1 May", "Cash", "100", ""},
                     {"", "Sales", "", "100"},
                     {"2 May", "Bank", "50", ""},
                     {"", "Cash", "", "50"}};
  EXPECT_EQ(joined_rows(journal), journal);
}

TEST(TableMends, DebitsAndCreditsWithoutAHeadStayTwoColumns) {
  const Rows sides{
      {"1 May", "Rent", "650.00", ""}, {"3 May", "Salary", "", "2000.00"}, {"7 May", "Refund", "", "12.00"}};
  EXPECT_EQ(joined_columns(sides), sides);
}

TEST(TableMends, TheFirstRowOfAGroupIsNotPartOfItsTitle) {
  const Rows budget{{"No", "Position", "Amount"}, {"4000", "Staff", ""},  {"", "Salaries", "5000"},
                    {"", "Insurance", "700"},     {"4100", "Travel", ""}, {"", "Flights", "900"},
                    {"", "Hotels", "800"}};
  EXPECT_EQ(joined_rows(budget), budget);
}

TEST(SideBlocks, AHeadingAboveTwoColumnsIsNoneOfThem) {
  Sheet sheet;
  sheet.put(50, 100, "Experience", true);
  sheet.put(50, 100 + kPitch, "2019 to 2023").put(330, 100 + kPitch, "Software engineer");
  sheet.put(330, 100 + 2 * kPitch, "Built the billing");
  EXPECT_THAT(sheet.markdown(), ::testing::StartsWith("### Experience\n"));
}

TEST(Paragraphs, OfOneLineAreApartInALetter) {
  Sheet sheet;
  sheet.lines(50, 100, {"Corner Bakery", "4 Market Place", "68000 Lockton"});
  float y = 100 + 5 * kPitch;
  for (const std::string line :
       {"Your order of October", "Dear Mr Baker", "As agreed we take back the sacks", "Yours sincerely"}) {
    sheet.put(50, y, line);
    y += 2 * kPitch - 1;
  }
  EXPECT_THAT(
      sheet.markdown(),
      HasSubstr("Your order of October\n\nDear Mr Baker\n\nAs agreed we take back the sacks\n\nYours"));
}

TEST(Columns, RowsAtTheirOwnHeightsAreColumns) {
  Sheet sheet;
  std::vector<std::string> side, text;
  for (int i = 0; i < 8; ++i) {
    side.push_back("skill " + std::to_string(i));
    text.push_back("worked at mill " + std::to_string(i));
  }
  sheet.lines(50, 100, side).lines(300, 104, text);
  EXPECT_LT(sheet.markdown().find("skill 7"), sheet.markdown().find("worked at mill 0"));
}

TEST(Times, AreDigitsAndMarks) {
  for (const char* time : {"8:30", "17.04.2026", "2026-11-03", "3/4/26"}) EXPECT_TRUE(is_time(time)) << time;
  for (const char* other : {"A-100", "830", "B12", "1.", "12:", "x:yz"})
    EXPECT_FALSE(is_time(other)) << other;
}

TEST(Columns, NamesAndPricesThatSlantAreNoColumns) {
  Sheet sheet(true);
  std::vector<std::string> names, prices;
  for (int i = 0; i < 8; ++i) {
    names.push_back("bread of the mill");
    prices.push_back(std::to_string(i + 2) + ".50");
  }
  sheet.lines(50, 100, names).lines(400, 101.5F, prices);
  EXPECT_THAT(sheet.markdown(), HasSubstr("bread of the mill | 2.50"));
}

TEST(Times, AColumnOfTimesNeedsNoWideGap) {
  Sheet sheet;
  float y = 100;
  for (const std::string hour : {"08", "09", "10", "11"}) {
    sheet.put(50, y, hour + ":30")
        .put(50 + 5 * kCharacter + 0.8F * kLetters, y, "Welcome and coffee in the hall");
    y += 1.5F * kPitch;
  }
  EXPECT_THAT(sheet.markdown(), HasSubstr("| 09:30 | Welcome and coffee in the hall |"));
}

TEST(SideBlocks, TwoBlocksMayStandAtDifferentHeights) {
  Sheet sheet;
  sheet.lines(50, 100, {"Mill and Sons", "12 Weir Lane", "67000 Millbrook", "Phone 03 88 12"});
  sheet.lines(330, 100 + 3 * kPitch, {"Invoice to:", "Corner Bakery", "4 Market Place", "68000 Lockton"});
  EXPECT_EQ(sheet.markdown(),
            "Mill and Sons  \n12 Weir Lane  \n67000 Millbrook  \nPhone 03 88 12\n\n"
            "Invoice to:  \nCorner Bakery  \n4 Market Place  \n68000 Lockton");
}

TEST(Columns, RowsOfAmountsAreNoColumnOfText) {
  Sheet sheet;
  sheet.lines(50, 100, {"FIRST MILL BANK OF THE WEIR", "STATEMENT OF ACCOUNT 00-47", "DATE     DESCRIPTION"});
  sheet.lines(330, 100, {"PAGE 1 OF 1", "PERIOD 1 MAY TO 31 MAY", "DEBIT    CREDIT    BALANCE"});
  float y = 100 + 4 * kPitch;
  for (const std::string day : {"01", "03", "07", "09"}) {
    sheet.put(50, y, "2026-05-" + day).put(120, y, "CARD PURCHASE GROCER");
    sheet.put(330, y, "41.20").put(430, y, "1,162.91");
    y += kPitch;
  }
  EXPECT_THAT(sheet.markdown(), HasSubstr("| 2026-05-01 | CARD PURCHASE GROCER | 41.20 | 1,162.91 |"));
}

using host::find_dashed_rules;

std::vector<Box> dashes(std::size_t count, float length, float apart, float height = 2) {
  std::vector<Box> all;
  for (std::size_t i = 0; i < count; ++i) {
    const float x = 50 + static_cast<float>(i) * (length + apart);
    all.push_back({x, 100, x + length, 100 + height});
  }
  return all;
}

TEST(DashedRules, ManyDashesOfOneDistanceAreARule) {
  const auto rules = find_dashed_rules(dashes(40, 6, 4), 11.5F);
  ASSERT_EQ(rules.size(), 1U);
  EXPECT_EQ(rules[0].dashes.size(), 40U);
  EXPECT_EQ(rules[0].line.size(), 39U);
  EXPECT_EQ(rules[0].line.front().x0, 50);
  EXPECT_EQ(rules[0].line.back().x1, 446);
}

TEST(DashedRules, TheyAlsoRunDown) {
  std::vector<Box> down;
  for (const Box& dash : dashes(40, 6, 4)) down.push_back({dash.y0, dash.x0, dash.y1, dash.x1});
  EXPECT_EQ(find_dashed_rules(down, 11.5F).size(), 1U);
}

TEST(DashedRules, HyphensLettersAndUnevenMarksAreNone) {
  EXPECT_TRUE(find_dashed_rules(dashes(9, 6, 4), 11.5F).empty());       // too few
  EXPECT_TRUE(find_dashed_rules(dashes(40, 2, 1, 1), 11.5F).empty());   // too short a line
  EXPECT_TRUE(find_dashed_rules(dashes(40, 6, 20), 11.5F).empty());     // too far apart
  EXPECT_TRUE(find_dashed_rules(dashes(40, 6, 4, 16), 11.5F).empty());  // as high as letters
  std::vector<Box> stems;                                               // of a letter i in each line
  for (const Box& dash : dashes(20, 11, 12)) stems.push_back({dash.y0, dash.x0, dash.y1, dash.x1});
  EXPECT_TRUE(find_dashed_rules(stems, 11.5F).empty());
  std::vector<Box> uneven;
  float x = 50;
  for (std::size_t i = 0; i < 40; ++i) {
    uneven.push_back({x, 100, x + 6, 102});
    x += 7 + 4 * static_cast<float>(i % 3);
  }
  EXPECT_TRUE(find_dashed_rules(uneven, 11.5F).empty());
}

TEST(WholeDates, ADateThatGoesOnInTheNextLineOfItsCellIsJoined) {
  EXPECT_EQ(with_whole_dates("2023-01-\n10"), "2023-01-10");
  EXPECT_EQ(with_whole_dates("2023- 01-\n10"), "2023-01-10");
  EXPECT_EQ(with_whole_dates("until 17.04.\n2024 at noon"), "until 17.04.2024 at noon");
  EXPECT_EQ(with_whole_dates("2023-01-10\n2023-01-11"), "2023-01-10\n2023-01-11");
  EXPECT_EQ(with_whole_dates("17.04.\n12 pieces"), "17.04.\n12 pieces");
  EXPECT_EQ(with_whole_dates("2023- 12 pieces"), "2023- 12 pieces");
}

}  // namespace
}  // namespace millrace::engines::table_mends_test
