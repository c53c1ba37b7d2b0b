#include "ai/engines/stamps.h"

#include <gtest/gtest.h>

#include "tests/unit/engines/sheet.h"

namespace millrace::engines {
namespace {

// Pieces of a word that rises over the page, as a text layer boxes its turned letters: each begins where the
// one before it ends.
void put_rising(Sheet& sheet, float x, float y, const std::vector<std::string>& pieces, float step = 12) {
  for (const std::string& piece : pieces) {
    sheet.box({x, y - step, x + 2.5F * step, y + step}, piece);
    x += step;
    y -= 2 * step;
  }
}

TEST(Stamps, LettersAcrossTheTextComeLastAndAsOneWord) {
  Sheet sheet;
  sheet.lines(50, 100, kProse);
  put_rising(sheet, 150, 135, {"D", "RA", "FT"});
  EXPECT_EQ(sheet.markdown(), kProseText + "\n\nDRAFT");
}

TEST(Stamps, WordsOfAStampStandApart) {
  Sheet sheet;
  sheet.lines(50, 100, kProse).lines(50, 139, kProse);
  put_rising(sheet, 150, 165, {"NO"});
  put_rising(sheet, 166, 136, {"CO", "PY"});
  EXPECT_EQ(sheet.markdown(), kProseText + " " + kProseText + "\n\nNO COPY");
}

TEST(Stamps, WhatIsStampedManyTimesIsSaidOnce) {
  Sheet sheet;
  sheet.lines(50, 100, kProse);
  sheet.box({60, 102, 150, 136}, "SAMPLE").box({250, 102, 340, 136}, "SAMPLE");
  EXPECT_EQ(sheet.markdown(), kProseText + "\n\nSAMPLE");
}

TEST(Stamps, AHeadingAboveTheTextIsNone) {
  EXPECT_FALSE(
      without_stamps(Sheet().put(50, 60, "Annual Report", false, 2.5F).lines(50, 100, kProse).page()));
}

TEST(Stamps, ADropCapitalBesideItsLinesIsNone) {
  Sheet sheet;
  sheet.box({50, 98, 75, 140}, "T").lines(80, 100, kProse).lines(50, 139, kProse);
  EXPECT_FALSE(without_stamps(sheet.page()));
}

TEST(Stamps, ARecogniserKnowsNone) {
  Sheet sheet(true);
  sheet.lines(50, 100, kProse).box({60, 102, 150, 136}, "SAMPLE");
  EXPECT_FALSE(without_stamps(sheet.page()));
}

TEST(Stamps, APageOfTallLettersAloneIsLeftAsItIs) {
  Sheet sheet;
  sheet.lines(50, 100, kProse);
  for (int i = 0; i < 300; ++i) sheet.box({60, 102, 150, 136}, "SAMPLE");
  EXPECT_FALSE(without_stamps(sheet.page()));
}

}  // namespace
}  // namespace millrace::engines
