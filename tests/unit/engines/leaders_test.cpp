#include "ai/engines/layout/leaders.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <leptonica/allheaders.h>

#include "ai/engines/host/pictures/leader_dots.h"
#include "tests/unit/engines/sheet.h"

namespace millrace::engines {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string kPitched = " . . . . . . . . . . . . ";

TEST(Leaders, AWordOfDotsIsCountedByItsDots) {
  EXPECT_EQ(dots_of("....."), 5U);
  EXPECT_EQ(dots_of("…·․"), 3U);
  EXPECT_EQ(dots_of("a..."), 0U);
  EXPECT_EQ(dots_of(""), 0U);
}

TEST(Leaders, AnEntryWithALeaderIsALine) {
  Sheet sheet;
  sheet.lines(50, 100,
              {"Notices" + kPitched + "vii", "Preface ........................ xi",
               "1.1 Security fundamentals……………12", "Where it goes on to a second line and",
               "ends in it" + kPitched + "A-3"});
  EXPECT_EQ(sheet.markdown(),
            "Notices vii  \nPreface xi  \n1.1 Security fundamentals 12  \n"
            "Where it goes on to a second line and ends in it A-3");
}

TEST(Leaders, ALoneEntryBetweenParagraphsIsALine) {
  Sheet sheet;
  sheet.lines(50, 100, kProse).lines(50, 100 + 3 * kPitch, {"Coffee" + kPitched + "2.50"});
  EXPECT_EQ(sheet.markdown(), kProseText + "\n\nCoffee 2.50");
}

TEST(Leaders, AmountsInColumnsAfterLeadersAreATable) {
  Sheet sheet;
  float y = 100;
  for (const std::string name : {"Defence", "Medicare", "Income"}) {
    sheet.put(50, y, name + " ..............").put(250, y, "5,306").put(350, y, "2,472");
    y += kPitch;
  }
  EXPECT_THAT(sheet.markdown(), HasSubstr("| Medicare | 5,306 | 2,472 |"));
  EXPECT_THAT(sheet.markdown(), Not(HasSubstr("..")));
}

TEST(Leaders, DotsThatLeadToNothingStay) {
  EXPECT_EQ(Sheet().put(50, 100, "Name: ..........").markdown(), "Name: ..........");
  EXPECT_EQ(Sheet().put(50, 100, "and so on ... until it ends . . . .").markdown(),
            "and so on ... until it ends . . . .");
  EXPECT_EQ(Sheet().put(50, 100, "..........").markdown(), "..........");
}

TEST(Leaders, BlanksOfAFormStay) {
  EXPECT_EQ(Sheet().put(50, 100, "Name .......... Date ..........").markdown(),
            "Name .......... Date ..........");
}

TEST(Leaders, BulletsOfAScanStandBesideTheNextWordOfTheirLine) {
  PageText page = Sheet().put(50, 100, "Card").put(150, 100, "1234").page();
  add_leaders({{{100, 103, 140, 107}, 4, "••••"}, {{100, 403, 140, 407}, 4, "••••"}}, page.words);
  ASSERT_EQ(page.words.size(), 3U);
  EXPECT_EQ(page.words[2].text, "••••");
  EXPECT_EQ(markdown_of(page), "Card •••• 1234");
}

TEST(Leaders, ThoseOfAScanFollowTheirWord) {
  PageText page = Sheet().put(50, 100, "Notices").put(50, 113, "Preface").page();
  add_leaders({{{90, 108, 200, 110}, 20, {}}, {{50, 300, 200, 302}, 30, {}}}, page.words);
  ASSERT_EQ(page.words.size(), 3U);
  EXPECT_EQ(page.words[2].text, std::string(20, '.'));
  EXPECT_FLOAT_EQ(page.words[2].box.y0, 100);
}

using host::Picture;

constexpr float kLetterOfScan = 12;

Picture blank() {
  Picture page(pixCreate(400, 60, 1));
  return page;
}

void spot(const Picture& page, int x, int y, int w, int h) {
  pixRasterop(page.get(), x, y, w, h, PIX_SET, nullptr, 0, 0);
}

std::vector<Leader> leaders_in(const Picture& page) {
  return host::find_leaders(host::pieces_of(page.get()), page.get(), kLetterOfScan);
}

TEST(LeaderDots, DotsOfEqualDistanceAreOne) {
  const Picture page = blank();
  for (int i = 0; i < 20; ++i) spot(page, 100 + 7 * i, 40 + (i % 3 == 0 ? 1 : 0), 3, 3);
  spot(page, 20, 30, 8, 13);  // letters at both sides
  spot(page, 300, 30, 8, 13);
  const auto leaders = leaders_in(page);
  ASSERT_EQ(leaders.size(), 1U);
  EXPECT_EQ(leaders[0].dots, 20U);
  EXPECT_FLOAT_EQ(leaders[0].box.x0, 100);
}

// A disc, or a circle if `inside` is more than 0.
void disc(const Picture& page, int x, int y, int size, int inside) {
  const double middle = (size - 1) / 2.0;
  for (int row = 0; row < size; ++row) {
    for (int column = 0; column < size; ++column) {
      const double away = std::hypot(row - middle, column - middle);
      if (away <= size / 2.0 && away >= inside / 2.0) spot(page, x + column, y + row, 1, 1);
    }
  }
}

TEST(LeaderDots, DiscsInARowAreAMaskOrARating) {
  const Picture mask = blank(), rating = blank(), letters = blank();
  for (int i = 0; i < 4; ++i) disc(mask, 100 + 12 * i, 24, 9, 0);
  for (int i = 0; i < 5; ++i) disc(rating, 100 + 16 * i, 20, 13, i < 3 ? 0 : 10);
  for (int i = 0; i < 3; ++i) disc(letters, 100 + 15 * i, 20, 12, 7);  // "ooo"
  const auto bullets = [](const Picture& page) {
    std::vector<std::string> texts;
    for (const Leader& each : host::find_bullets(host::pieces_of(page.get()), page.get(), kLetterOfScan))
      texts.push_back(each.bullets);
    return texts;
  };
  EXPECT_THAT(bullets(mask), ::testing::ElementsAre("••••"));
  EXPECT_THAT(bullets(rating), ::testing::ElementsAre("●●●○○"));
  EXPECT_THAT(bullets(letters), ::testing::IsEmpty());
}

TEST(LeaderDots, AnEllipsisAndDotsBetweenLettersAreNone) {
  const Picture ellipsis = blank();
  for (int i = 0; i < 4; ++i) spot(ellipsis, 100 + 7 * i, 40, 3, 3);
  EXPECT_TRUE(leaders_in(ellipsis).empty());
  const Picture numbers = blank();
  for (int i = 0; i < 8; ++i) {
    spot(numbers, 100 + 16 * i, 40, 3, 3);
    spot(numbers, 106 + 16 * i, 28, 7, 15);
  }
  EXPECT_TRUE(leaders_in(numbers).empty());
}

TEST(LeaderDots, DotsAnywhereAreNone) {
  const Picture page = blank();
  int x = 10;
  for (int i = 0; i < 40; ++i, x += 5 + (i * 7) % 11) spot(page, x, 5 + (i * 13) % 50, 3, 3);
  EXPECT_TRUE(leaders_in(page).empty());
}

}  // namespace
}  // namespace millrace::engines
