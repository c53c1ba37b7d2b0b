#include "ai/engines/layout/grids.h"

#include <limits>
#include <string>

#include <gtest/gtest.h>

namespace millrace::engines {
namespace {

constexpr float kLetterHeight = 10;

std::vector<Box> across(const std::vector<float>& ys, float from = 0, float to = 300) {
  std::vector<Box> rules;
  for (const float y : ys) rules.push_back({from, y - 1, to, y + 1});
  return rules;
}

std::vector<Box> down(const std::vector<float>& xs, float from = 0, float to = 90) {
  std::vector<Box> rules;
  for (const float x : xs) rules.push_back({x - 1, from, x + 1, to});
  return rules;
}

Word word(float x, float y, std::string text) { return {{x, y, x + 30, y + 10}, std::move(text)}; }

PageText page_of(std::vector<Word> words) {
  PageText page;
  page.words = std::move(words);
  return page;
}

Grid three_by_three() { return *Grid::of(across({0, 30, 60, 90}), down({0, 100, 200, 300}), kLetterHeight); }

std::string table_in(const PageText& page) {
  for (const Word& each : page.words) {
    if (each.figure) return each.text;
  }
  return {};
}

TEST(Grids, TheLinesCutATableIntoCells) {
  PageText page =
      page_of({word(110, 10, "Qty"), word(10, 10, "Item"), word(210, 10, "Price"), word(10, 40, "Bolt"),
               word(110, 40, "12"), word(45, 40, "M6"), word(210, 70, "4"), word(10, 150, "after")});
  EXPECT_TRUE(set_tables({three_by_three()}, page).empty());
  EXPECT_EQ(table_in(page), "| Item | Qty | Price |\n| --- | --- | --- |\n| Bolt M6 | 12 |  |\n|  |  | 4 |");
  ASSERT_EQ(page.words.size(), 2u) << "words outside the table remain";
  EXPECT_FLOAT_EQ(page.letters, 10) << "words moved into the table still count for the letter size";
}

TEST(Grids, LinesOfACellAreJoined) {
  PageText page = page_of(
      {word(10, 2, "two"), word(10, 16, "lines"), word(110, 10, "b"), word(10, 40, "c"), word(110, 40, "d")});
  set_tables({three_by_three()}, page);
  EXPECT_EQ(table_in(page), "| two lines | b |\n| --- | --- |\n| c | d |") << "the third column is empty";
}

// A grid without inner lines in the first row. In its first column, the other rows form one cell.
Grid with_wide_cells() {
  std::vector<Box> rules_down = down({0, 300});
  for (const float x : {100.0F, 200.0F}) rules_down.push_back({x - 1, 30, x + 1, 90});
  std::vector<Box> rules_across = across({0, 30, 90});
  rules_across.push_back({100, 59, 300, 61});
  return *Grid::of(rules_across, rules_down, kLetterHeight);
}

TEST(Grids, ACellOverSeveralColumnsOrRowsIsWrittenWhereItBegins) {
  EXPECT_EQ(with_wide_cells().cells().size(), 6u);
  PageText page = page_of({word(80, 10, "head"), word(180, 10, "line"), word(10, 55, "both"),
                           word(110, 40, "a"), word(210, 40, "b"), word(110, 70, "c"), word(210, 70, "d")});
  set_tables({with_wide_cells()}, page);
  EXPECT_EQ(table_in(page), "| head line |  |  |\n| --- | --- | --- |\n| both | a | b |\n|  | c | d |");
}

TEST(Grids, WordsThatKeepClearOfLinesThatAreNotDrawnHaveCellsOfTheirOwn) {
  PageText page = page_of({word(10, 10, "x"), word(110, 10, "y"), word(210, 10, "z"), word(10, 55, "both"),
                           word(110, 40, "a"), word(210, 40, "b"), word(110, 70, "c"), word(210, 70, "d")});
  set_tables({with_wide_cells()}, page);
  EXPECT_EQ(table_in(page), "| x | y | z |\n| --- | --- | --- |\n| both | a | b |\n|  | c | d |");
}

TEST(Grids, AFrameThatIsOpenAtItsSidesEndsWhereItsRulesDo) {
  const auto grid = Grid::of(across({0, 30, 60}), down({100, 200}, 0, 60), kLetterHeight);
  ASSERT_TRUE(grid);
  EXPECT_EQ(grid->columns(), 3u);
  EXPECT_EQ(grid->box().x1, 300);
}

TEST(Grids, PiecesOfALineAndDoubleLinesAreOne) {
  std::vector<Box> rules = across({0, 30, 33, 60}, 0, 150);
  for (const Box& rule : across({0, 31, 61}, 152, 300)) rules.push_back(rule);
  const auto grid = Grid::of(rules, down({0, 150, 300}, 0, 60), kLetterHeight);
  ASSERT_TRUE(grid);
  EXPECT_EQ(grid->rows(), 2u);
}

TEST(Grids, AFrameOfOneColumnAndBoxesForSingleLettersAreNone) {
  EXPECT_FALSE(Grid::of(across({0, 30, 60}), down({0, 300}), kLetterHeight));
  EXPECT_FALSE(Grid::of(across({0, 90}), down({0, 100, 200, 300}), kLetterHeight));
  std::vector<float> combs;
  for (float x = 0; x <= 300; x += 15) combs.push_back(x);
  EXPECT_FALSE(Grid::of(across({0, 30, 60}), down(combs, 0, 60), kLetterHeight));
  EXPECT_FALSE(Grid::of({}, {}, kLetterHeight));
}

TEST(Grids, LinesThatMakeNoRectanglesAreNone) {
  std::vector<Box> rules_down = down({0, 300});
  rules_down.push_back({99, 0, 101, 30});
  rules_down.push_back({199, 30, 201, 90});
  std::vector<Box> rules_across = across({0, 90});
  rules_across.push_back({0, 29, 100, 31});
  rules_across.push_back({200, 59, 300, 61});
  EXPECT_FALSE(Grid::of(rules_across, rules_down, kLetterHeight));
}

TEST(Grids, OneWithNextToNothingInItLeavesItsWordsAsTheyAre) {
  PageText page = page_of({word(10, 10, "lonely"), word(210, 70, "words")});
  EXPECT_TRUE(set_tables({three_by_three()}, page).empty());
  EXPECT_EQ(page.words.size(), 2u);
  EXPECT_EQ(table_in(page), "");
}

TEST(Grids, OneOfMarksIsTheGroundOfADrawing) {
  PageText page = page_of({word(10, 10, "/"), word(110, 40, "\\"), word(210, 40, "—x"), word(110, 70, "|"),
                           word(10, 150, "legend")});
  page.words[2].text = "_";
  const auto drawings = set_tables({three_by_three()}, page);
  ASSERT_EQ(drawings.size(), 1u);
  EXPECT_EQ(drawings[0].y1, 90);
  ASSERT_EQ(page.words.size(), 1u);
  EXPECT_EQ(page.words[0].text, "legend");
}

TEST(Grids, ItMovesAndGrowsWithItsPicture) {
  Grid grid = three_by_three();
  grid.scale(2);
  grid.move(5, 7);
  EXPECT_EQ(grid.box().x0, 5);
  EXPECT_EQ(grid.box().y1, 187);
  EXPECT_EQ(grid.cell_at(210, 70)->column, 1u);
  EXPECT_FALSE(grid.cell_at(4, 70));
  EXPECT_FALSE(grid.cell_at(std::numeric_limits<float>::quiet_NaN(), 70));
}

Rules rules_of_grid() { return {across({0, 30, 60, 90}), down({0, 100, 200, 300})}; }

TEST(RuledTables, OneOfATextLayerIsReadCellByCell) {
  PageText page =
      page_of({word(110, 2, "b"), word(10, 2, "two"), word(10, 16, "lines"), word(210, 2, "d"),
               word(10, 40, "e"), word(110, 40, "f"), word(210, 70, "g"), word(10, 150, "after")});
  set_ruled_tables(rules_of_grid(), page);
  EXPECT_EQ(table_in(page), "| two lines | b | d |\n| --- | --- | --- |\n| e | f |  |\n|  |  | g |");
  EXPECT_EQ(page.words.size(), 2u);
}

TEST(RuledTables, ARowOfLabelsAboveValuesIsATable) {
  const Rules rules{across({0, 30}), down({0, 100, 200, 300}, 0, 30)};
  PageText labels =
      page_of({word(10, 2, "Name"), word(10, 16, "Miller"), word(110, 2, "Number"), word(110, 16, "17"),
               word(210, 2, "Month"), word(210, 16, "October"), word(10, 60, "after")});
  set_ruled_tables(rules, labels);
  EXPECT_EQ(table_in(labels), "| Name<br>Miller | Number<br>17 | Month<br>October |\n| --- | --- | --- |");
  PageText words = page_of({word(10, 2, "one"), word(110, 2, "two"), word(210, 2, "three")});
  set_ruled_tables(rules, words);
  EXPECT_EQ(table_in(words), "");
}

TEST(RuledTables, SeveralTablesOfAPageAreApart) {
  Rules rules = rules_of_grid();
  for (const Box& rule : across({200, 230, 260})) rules.across.push_back(rule);
  for (const Box& rule : down({0, 150, 300}, 200, 260)) rules.down.push_back(rule);
  EXPECT_EQ(grids_of(rules, kLetterHeight).size(), 2u);
}

TEST(RuledTables, TheInnerOfTwoIsATableOfItsOwn) {
  Rules rules = rules_of_grid();
  for (const Box& rule : across({35, 45, 55}, 110, 190)) rules.across.push_back(rule);
  for (const Box& rule : down({110, 150, 190}, 35, 55)) rules.down.push_back(rule);
  const auto grids = grids_of(rules, kLetterHeight);
  ASSERT_EQ(grids.size(), 1u) << "an inner grid of less than three letters is none";
  EXPECT_EQ(grids[0].box().x1, 300);
}

TEST(RuledTables, LinesThroughWordsAndWordsInOtherDirectionsMakeNone) {
  const std::vector<Word> cells{word(10, 10, "a"), word(110, 10, "b"), word(10, 40, "c"), word(110, 40, "d")};
  PageText crossed = page_of(cells);
  for (Word& each : crossed.words) each.box.x0 -= 30, each.box.x1 += 70;
  PageText turned = page_of(cells);
  turned.words[0].turn = Orientation::kUp;
  turned.words[0].box.y1 += 40;
  PageText plain = page_of(cells);
  for (PageText* page : {&crossed, &turned, &plain}) set_ruled_tables(rules_of_grid(), *page);
  EXPECT_EQ(table_in(crossed), "");
  EXPECT_EQ(crossed.words.size(), 4u);
  EXPECT_EQ(table_in(turned), "");
  EXPECT_NE(table_in(plain), "");
}

TEST(RuledTables, AHeadThatRunsUpwardsIsReadFromBelow) {
  PageText page = page_of({word(10, 10, "Name"), word(10, 40, "Miller"), word(110, 40, "17")});
  page.words.push_back({.box = {120, 16, 130, 26}, .text = "Size", .turn = Orientation::kUp});
  page.words.push_back({.box = {120, 4, 130, 14}, .text = "mm", .turn = Orientation::kUp});
  set_ruled_tables(rules_of_grid(), page);
  EXPECT_EQ(table_in(page), "| Name | Size mm |\n| --- | --- |\n| Miller | 17 |");
}

TEST(RuledTables, MarksOfATextLayerAreKept) {
  PageText page = page_of({word(10, 10, "-"), word(110, 40, "-")});
  set_ruled_tables(rules_of_grid(), page);
  EXPECT_EQ(page.words.size(), 2u);
}

TEST(RuledTables, OnlyPagesWithWideGapsMayHoldThem) {
  std::vector<Word> prose, cells;
  for (float y = 0; y < 100; y += 12) {
    for (float x = 0; x < 300; x += 34) prose.push_back(word(x, y, "word"));
    cells.push_back(word(0, y, "cell"));
    cells.push_back(word(60, y, "cell"));
  }
  EXPECT_FALSE(may_hold_tables(page_of(prose)));
  EXPECT_TRUE(may_hold_tables(page_of(cells)));
  EXPECT_FALSE(may_hold_tables(PageText{}));
}

}  // namespace
}  // namespace millrace::engines
