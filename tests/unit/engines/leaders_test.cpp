#include "ai/engines/layout/leaders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace millrace::engines
