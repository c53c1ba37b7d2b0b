#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/engines/sheet.h"

namespace millrace::engines {
namespace {

// Adds a row of cells whose columns are `step` apart.
void put_cells(Sheet& sheet, float y, float step, const std::vector<std::string>& cells) {
  float x = 50;
  for (const std::string& cell : cells) {
    sheet.put(x, y, cell);
    x += step;
  }
}

TEST(LayoutTables, RowsWithWhiteRiversAreATable) {
  Sheet sheet;
  sheet.lines(50, 100, kProse);
  const std::vector<std::vector<std::string>> rows{
      {"Name", "Count", "Share"}, {"red apples", "12", "3.5 %"}, {"pears", "7", "a|b"}};
  float y = 160;
  for (const auto& row : rows) {
    sheet.put(100, y, row[0]).put(250, y, row[1]).put(350, y, row[2]);
    y += kPitch;
  }
  sheet.lines(50, y + 20, kProse);
  EXPECT_NE(sheet.markdown().find(
                "alone\n\n| Name | Count | Share |\n| --- | --- | --- |\n| red apples | 12 | 3.5 % |\n"
                "| pears | 7 | a\\|b |\n\nThe gateway"),
            std::string::npos)
      << sheet.markdown();
}

TEST(LayoutTables, ALineOfProseWithAWideGapAfterATableIsNotOfIt) {
  Sheet sheet;
  float y = 100;
  for (const std::string name : {"one", "two", "three", "four"}) {
    sheet.put(100, y, name).put(250, y, "12").put(350, y, "77");
    y += kPitch;
  }
  sheet.put(50, y + 10, "prose that begins here and goes on")
      .put(260, y + 10, "over the gap in it and far on");
  EXPECT_TRUE(sheet.markdown().ends_with(
      "| four | 12 | 77 |\n\nprose that begins here and goes on over the gap in it "
      "and far on"))
      << sheet.markdown();
}

TEST(LayoutTables, AnEmptyCellStaysEmpty) {
  Sheet sheet;
  sheet.put(100, 100, "a").put(250, 100, "b").put(350, 100, "c");
  sheet.put(100, 113, "d").put(350, 113, "f");
  sheet.put(100, 126, "g").put(250, 126, "h").put(350, 126, "i");
  EXPECT_EQ(sheet.markdown(), "| a | b | c |\n| --- | --- | --- |\n| d |  | f |\n| g | h | i |");
}

TEST(LayoutTables, TwoColumnsAreReadOneAfterTheOtherUnderTheirHeading) {
  Sheet sheet;
  sheet.put(150, 60, "A Title Over Both Columns", false, 1.6F);
  std::string left;
  std::string right;
  for (int i = 0; i < 8; ++i) {
    const float y = 100 + kPitch * static_cast<float>(i);
    const std::string number = std::to_string(i);
    sheet.put(50, y, "left words of the line number " + number)
        .put(320, y + 4, "right words of the line number " + number);
    left += (i > 0 ? " " : "") + ("left words of the line number " + number);
    right += (i > 0 ? " " : "") + ("right words of the line number " + number);
  }
  sheet.put(50, 260, "A full line below both of the columns that crosses the gutter of the page and");
  const std::string text = sheet.markdown();
  EXPECT_NE(text.find("# A Title Over Both Columns\n\n" + left), std::string::npos) << text;
  EXPECT_NE(text.find(right), std::string::npos) << text;
  EXPECT_LT(text.find(left), text.find(right));
  EXPECT_LT(text.find("right words"), text.find("A full line below"));
}

TEST(LayoutTables, AParagraphRunsOnFromColumnToColumn) {
  Sheet sheet;
  for (int i = 0; i < 6; ++i) {
    const float y = 100 + kPitch * static_cast<float>(i);
    sheet.put(50, y, "these words go on and on").put(320, y, "those words go on and on");
  }
  EXPECT_EQ(sheet.markdown().find('\n'), std::string::npos) << sheet.markdown();
}

TEST(LayoutTables, ATableOfManyWordsIsNotCutIntoColumns) {
  Sheet sheet;
  for (int i = 0; i < 6; ++i) {
    const float y = 100 + kPitch * static_cast<float>(i);
    put_cells(sheet, y, 180,
              {"A long description of it", "and a remark on that", std::to_string(i) + ".00 EUR"});
  }
  EXPECT_TRUE(sheet.markdown().ends_with("\n| A long description of it | and a remark on that | 5.00 EUR |"))
      << sheet.markdown();
}

TEST(LayoutTables, ATableOfEvenColumnsIsOneTable) {
  for (const float pitch : {kPitch, 1.8F * kPitch, 3 * kPitch}) {
    Sheet sheet;
    for (int i = 0; i < 5; ++i) {
      put_cells(sheet, 100 + pitch * static_cast<float>(i), 130,
                {"one cell", "two cell", "red cell", "blue cell"});
    }
    EXPECT_TRUE(sheet.markdown().starts_with("| one cell | two cell | red cell | blue cell |\n| --- |"))
        << pitch << sheet.markdown();
    EXPECT_EQ(sheet.markdown().find("\n\n"), std::string::npos) << pitch << sheet.markdown();
  }
}

TEST(LayoutTables, ACellOfTwoLinesIsOne) {
  Sheet sheet;
  for (int i = 0; i < 4; ++i) {
    put_cells(sheet, 100 + 30 * static_cast<float>(i), 130, {"name", "value", "share"});
  }
  sheet.put(180, 142, "goes on");
  EXPECT_NE(sheet.markdown().find("| name | value goes on | share |\n| name | value | share |"),
            std::string::npos)
      << sheet.markdown();
}

TEST(LayoutTables, ColumnsWithTablesAmongTheirProseStayColumns) {
  Sheet sheet;
  for (int i = 0; i < 20; ++i) {
    const float y = 100 + kPitch * static_cast<float>(i);
    for (const float x : {50.0F, 330.0F}) {
      if (i % 10 < 4) sheet.put(x, y, "some words that fill a line of one column and");
      if (i % 10 >= 4) sheet.put(x + 40, y, "Case").put(x + 90, y, "12").put(x + 130, y, "3.5");
    }
  }
  const std::string text = sheet.markdown();
  std::size_t tables = 0;
  for (std::size_t at = 0;
       (at = text.find("| Case | 12 | 3.5 |\n| --- | --- | --- |", at)) != std::string::npos; ++at)
    ++tables;
  EXPECT_EQ(tables, 4U) << text;
}

TEST(LayoutTables, ColumnsOfReferencesOnTheSameLinesStayColumns) {
  Sheet sheet;
  for (int i = 0; i < 12; ++i) {
    const float y = 100 + kPitch * static_cast<float>(i);
    if (i % 3 == 0)
      sheet.put(50, y, "[" + std::to_string(i) + "]").put(330, y, "[" + std::to_string(90 + i) + "]");
    sheet.put(75, y, "left words that fill their line and");
    sheet.put(355, y, "right words that fill the line and");
  }
  const std::string text = sheet.markdown();
  EXPECT_EQ(text.find('|'), std::string::npos) << text;
  EXPECT_GT(text.find("right words"), text.rfind("left words")) << text;
}

// Adds rows of cells at these positions, one below the other.
Sheet& rows(Sheet& sheet, float y, const std::vector<float>& places,
            const std::vector<std::vector<std::string>>& cells, float step = 18) {
  for (const auto& row : cells) {
    for (std::size_t i = 0; i < row.size(); ++i) sheet.put(places[i], y, row[i]);
    y += step;
  }
  return sheet;
}

TEST(LayoutTables, AFewRowsUnderATitleAreOneTableHoweverWideACellIs) {
  Sheet sheet;
  sheet.put(270, 60, "Invoice", false, 1.8F);
  rows(sheet, 100, {50, 80, 310, 360, 450},
       {{"Pos", "Description", "Qty", "Unit price", "Amount"},
        {"1", "Wheat flour", "12", "18.40", "220.80"},
        {"2", "Rye, whole grain", "3", "15.00", "45.00"}});
  sheet.put(360, 154, "Total").put(450, 154, "265.80").put(50, 190, "Pay soon.");
  EXPECT_EQ(
      sheet.markdown(),
      "# Invoice\n\n| Pos | Description | Qty | Unit price | Amount |\n| --- | --- | --- | --- | --- |\n"
      "| 1 | Wheat flour | 12 | 18.40 | 220.80 |\n| 2 | Rye, whole grain | 3 | 15.00 | 45.00 |\n"
      "|  |  |  | Total | 265.80 |\n\nPay soon.");
}

TEST(LayoutTables, ALineOfTwoPartsAboveATableIsNoneOfItsRows) {
  Sheet sheet;
  sheet.put(50, 82, "Invoice 4711").put(400, 82, "Date: 3 March 2026");
  rows(sheet, 100, {50, 300, 380, 460},
       {{"Description", "Qty", "Price", "Amount"},
        {"Wheat flour", "12", "18.40", "220.80"},
        {"Rye", "3", "15.00", "45.00"}});
  EXPECT_EQ(
      sheet.markdown(),
      "Invoice 4711 Date: 3 March 2026\n\n| Description | Qty | Price | Amount |\n| --- | --- | --- | --- |\n"
      "| Wheat flour | 12 | 18.40 | 220.80 |\n| Rye | 3 | 15.00 | 45.00 |");
}

TEST(LayoutTables, ShortHeadsAreOfTheLongFiguresBelowThem) {
  Sheet sheet;
  rows(sheet, 100, {50, 100, 142, 184},
       {{"Region", "Q1", "Q2", "Q3"},
        {"North", "31,200", "77,688", "71,343"},
        {"South", "48,500", "79,167", "62,145"}});
  EXPECT_EQ(sheet.markdown(),
            "| Region | Q1 | Q2 | Q3 |\n| --- | --- | --- | --- |\n| North | 31,200 | 77,688 | 71,343 |\n"
            "| South | 48,500 | 79,167 | 62,145 |");
}

TEST(LayoutTables, TheFirstLineOfACellThatStandsAboveItsRowIsOfIt) {
  Sheet sheet;
  rows(sheet, 100, {50, 80, 300, 380},
       {{"Pos", "Description", "Qty", "Amount"}, {"1", "Wheat flour", "12", "220.80"}});
  sheet.put(80, 143, "Delivery to the harbour,");
  rows(sheet, 155, {50, 80, 300, 380}, {{"2", "including unloading", "1", "35.00"}});
  EXPECT_EQ(
      sheet.markdown(),
      "| Pos | Description | Qty | Amount |\n| --- | --- | --- | --- |\n| 1 | Wheat flour | 12 | 220.80 |\n"
      "| 2 | Delivery to the harbour, including unloading | 1 | 35.00 |");
}

TEST(LayoutTables, ALineBeforeARowThatIsNoneOfTheTableIsNotLost) {
  Sheet sheet;
  rows(sheet, 100, {100, 250, 350}, {{"one", "12", "77"}, {"two", "12", "77"}, {"three", "12", "77"}});
  sheet.put(250, 154, "more");
  sheet.put(50, 166, "prose that begins here and goes on").put(250, 166, "over the gap in it and far on");
  EXPECT_TRUE(
      sheet.markdown().starts_with("| one | 12 | 77 |\n| --- | --- | --- |\n| two | 12 | 77 |\n"
                                   "| three | 12 | 77 |\n\nmore"))
      << sheet.markdown();
}

TEST(LayoutTables, OptionsBesideTheirDescriptionsAreATable) {
  Sheet sheet;
  rows(sheet, 100, {50, 150},
       {{"--quiet", "print nothing but the errors"},
        {"--output", "write the result to this file"},
        {"--force", "overwrite what is there already"},
        {"--jobs", "run so many of them at a time"},
        {"--dry", "show what would be done only"}},
       kPitch);
  EXPECT_THAT(sheet.markdown(),
              ::testing::HasSubstr("| --output | write the result to this file |\n| --force | overwrite"));
}

TEST(LayoutTables, ANoteInTheMiddleBelowATableIsNoneOfItsCells) {
  Sheet sheet;
  rows(sheet, 100, {50, 400}, {{"Flour", "12"}, {"Rye", "7"}, {"Oats", "3"}}, kPitch);
  sheet.put(200, 139, "(in thousands)");
  EXPECT_EQ(sheet.markdown(), "| Flour | 12 |\n| --- | --- |\n| Rye | 7 |\n| Oats | 3 |\n\n(in thousands)");
}

TEST(LayoutTables, TheLinesOfACellAreEvenAboutTheMiddleOfItsRow) {
  Sheet sheet;
  rows(sheet, 75, {50, 130, 400}, {{"Name", "What it is", "Qty"}});
  for (const float y : {100.0F, 140.0F}) {
    sheet.put(50, y, "Flour").put(400, y, "12");
    sheet.put(130, y - 6.5F, "ground by the mill").put(130, y + 6.5F, "in the old way");
  }
  EXPECT_EQ(sheet.markdown(),
            "| Name | What it is | Qty |\n| --- | --- | --- |\n"
            "| Flour | ground by the mill in the old way | 12 |\n"
            "| Flour | ground by the mill in the old way | 12 |");
}

TEST(LayoutTables, ATotalBelowAColumnIsARowOfItsOwn) {
  for (const auto& [x, total] : {std::pair(200.0F, "300"), std::pair(190.0F, "1,300")}) {
    Sheet sheet;
    rows(sheet, 100, {50, 200}, {{"Flour", "Sum"}, {"Wheat", "200"}, {"Rye", "100"}}, kPitch);
    sheet.put(x, 139, total);
    EXPECT_EQ(
        sheet.markdown(),
        std::string("| Flour | Sum |\n| --- | --- |\n| Wheat | 200 |\n| Rye | 100 |\n|  | ") + total + " |");
  }
}

TEST(LayoutTables, AnAmountCloserToItsRowThanTheNextRowIsOfItsCell) {
  Sheet sheet;
  for (const float y : {100.0F, 130.0F, 160.0F})
    sheet.put(50, y, "Flour").put(200, y, "1.25").put(200, y + 12, "(0.03)");
  EXPECT_EQ(sheet.markdown(),
            "| Flour | 1.25 (0.03) |\n| --- | --- |\n| Flour | 1.25 (0.03) |\n| Flour | 1.25 (0.03) |");
}

TEST(LayoutTables, WordsOfAScriptWithoutSpacesAreJoinedInACell) {
  Sheet sheet;
  for (const float y : {100.0F, 118.0F, 136.0F})
    sheet.put(50, y, "設備").put(81, y, "点検").put(250, y, "12");
  EXPECT_TRUE(sheet.markdown().starts_with("| 設備点検 | 12 |\n| --- | --- |\n| 設備点検 | 12 |"))
      << sheet.markdown();
}

TEST(LayoutTables, PairsOfColumnsBelowEachOtherAreAllReadAsColumns) {
  Sheet sheet;
  for (int band = 0; band < 9; ++band) {
    const float top = 40 + 6 * kPitch * static_cast<float>(band);
    for (int i = 0; i < 5; ++i) {
      const float y = top + kPitch * static_cast<float>(i);
      sheet.put(50, y, "left" + std::to_string(band) + " words of the line number")
          .put(320, y + 4, "right" + std::to_string(band) + " words of the line number");
    }
    sheet.put(50, top + 5 * kPitch,
              "A full line below both of the columns that crosses the gutter of the page and");
  }
  const std::string text = sheet.markdown();
  for (int band = 0; band < 9; ++band) {
    EXPECT_LT(text.rfind("left" + std::to_string(band)), text.find("right" + std::to_string(band))) << text;
  }
}

TEST(LayoutTables, ACellOfSeveralLinesMayStandCloseToTheDateBeforeIt) {
  Sheet sheet;
  float y = 100;
  for (const std::string day : {"01", "02", "03", "04"}) {
    sheet.put(50, y, day + ".03.2026").put(108, y, "Card payment").put(300, y, "84.10");  // a gap of 8
    sheet.put(108, y + kPitch, "Supermarket").put(108, y + 2 * kPitch, "Card 1234");
    y += 3.5F * kPitch;
  }
  const std::string text = sheet.markdown();
  for (const std::string day : {"01", "02", "03", "04"})
    EXPECT_NE(text.find("| " + day + ".03.2026 | Card payment Supermarket Card 1234 | 84.10 |"),
              std::string::npos)
        << text;
}

TEST(LayoutTables, ALineBelowAWordAfterANarrowGapIsNoCellOfIt) {
  Sheet sheet;
  float y = 100;
  for (int i = 0; i < 4; ++i) {
    sheet.put(50, y, "Payment").put(93, y, "of a card").put(300, y, "84.10").put(93, y + kPitch, "of prose");
    y += 3.5F * kPitch;
  }
  EXPECT_EQ(sheet.markdown().find('|'), std::string::npos) << sheet.markdown();
}

TEST(LayoutTables, TablesBelowEachOtherAreApart) {
  Sheet sheet;
  float y = 100;
  for (const auto& [name, amount] : {std::pair{"Visa", "12.50"}, {"Master", "7.20"}, {"Amex", "99.00"}}) {
    sheet.put(50, y, name).put(300, y, amount);
    y += 16;
  }
  y += 25;
  for (const auto& [name, mark] : {std::pair{"Taste", "good"}, {"Service", "poor"}, {"Place", "fair"}}) {
    sheet.put(50, y, name).put(180, y, mark);
    y += 16;
  }
  EXPECT_NE(sheet.markdown().find("| Amex | 99.00 |\n\n| Taste | good |\n"), std::string::npos)
      << sheet.markdown();
}

TEST(LayoutTables, GroupsOfRowsAreOneTable) {
  Sheet sheet;
  for (int i = 0; i < 9; ++i) {
    const float y = 100 + 16 * static_cast<float>(i) + 16 * static_cast<float>(i / 3);
    sheet.put(50, y, "Mill").put(180, y, std::to_string(i)).put(300, y, "good");
  }
  EXPECT_EQ(sheet.markdown().find("\n\n"), std::string::npos) << sheet.markdown();
}

TEST(LayoutTables, AHeadFurtherBelowBeginsATable) {
  Sheet sheet;
  for (int i = 0; i < 8; ++i) {
    const float y = 100 + 16 * static_cast<float>(i) + 16 * static_cast<float>(i / 4);
    const bool head = i % 4 == 0;
    sheet.put(50, y, "Mill")
        .put(180, y, head ? "Tons" : std::to_string(i))
        .put(300, y, head ? "State" : "good");
  }
  EXPECT_NE(sheet.markdown().find("| Mill | 3 | good |\n\n| Mill | Tons | State |\n"), std::string::npos)
      << sheet.markdown();
}

TEST(LayoutTables, ATotalFurtherBelowIsOfItsTable) {
  Sheet sheet;
  float y = 100;
  for (const auto& [name, amount] : {std::pair{"Visa", "12.50"}, {"Master", "7.20"}, {"Amex", "99.00"}}) {
    sheet.put(50, y, name).put(300, y, amount);
    y += 16;
  }
  sheet.put(50, y + 20, "Total").put(300, y + 20, "118.70");
  EXPECT_NE(sheet.markdown().find("| Amex | 99.00 |\n| Total | 118.70 |"), std::string::npos)
      << sheet.markdown();
}

TEST(LayoutTables, TablesSideBySideAreApartIfTheSpaceBetweenThemIsWide) {
  const std::vector<std::vector<std::string>> rows{{"Mill", "Tons", "Town", "Hours"},
                                                   {"North", "12", "Leeds", "3"},
                                                   {"South", "9", "York", "4"},
                                                   {"East", "7", "Hull", "5"}};
  for (const float wide : {300.0F, 180.0F}) {
    Sheet sheet;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const float y = 100 + 16 * static_cast<float>(i);
      sheet.put(50, y, rows[i][0])
          .put(110, y, rows[i][1])
          .put(wide, y, rows[i][2])
          .put(wide + 60, y, rows[i][3]);
    }
    const bool apart = sheet.markdown().find("| East | 7 |\n\n| Town | Hours |") != std::string::npos;
    EXPECT_EQ(apart, wide > 200) << sheet.markdown();
  }
}

TEST(LayoutTables, ANoteWithAnAsteriskIsNoItem) {
  Sheet sheet;
  sheet.lines(50, 100, {"The wheel* turns by day and by night, and the stone never rests."});
  sheet.put(50, 140, "* not on Sundays");
  EXPECT_EQ(sheet.markdown().find("\n- not"), std::string::npos) << sheet.markdown();
  Sheet list;
  list.lines(50, 100, {"The wheel turns by day and by night, and the stone never rests."});
  list.put(50, 140, "* not on Sundays");
  EXPECT_NE(list.markdown().find("\n- not on Sundays"), std::string::npos) << list.markdown();
}

// Of two tables, or of two paragraphs.
TEST(LayoutTables, TwoNotesAtOnePlaceAreNoItemsOfOneList) {
  Sheet tables;
  for (const float y : {100.F, 240.F}) {
    tables.put(50, y, "Wheel").put(150, y, "9.50*").put(250, y, "red");
    tables.put(50, y + 16, "Stone").put(150, y + 16, "7.25*").put(250, y + 16, "gray");
    tables.put(50, y + 32, "Sieve").put(150, y + 32, "3.10*").put(250, y + 32, "blue");
    tables.put(50, y + 60, "* plus VAT");
  }
  EXPECT_EQ(tables.markdown().find("- plus VAT"), std::string::npos) << tables.markdown();
  EXPECT_NE(tables.markdown().find("* plus VAT"), std::string::npos) << tables.markdown();
  Sheet prose;
  for (const float y : {100.F, 240.F}) {
    prose.lines(50, y,
                {"The wheel* turns by day and by night, and the stone never rests.", "It grinds all day."});
    prose.put(50, y + 60, "* not on Sundays");
  }
  EXPECT_EQ(prose.markdown().find("- not"), std::string::npos) << prose.markdown();
}

}  // namespace
}  // namespace millrace::engines
