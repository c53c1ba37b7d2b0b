#include "ai/engines/layout/stamps.h"

#include <gtest/gtest.h>

#include "tests/unit/engines/sheet.h"

namespace millrace::engines {
namespace {

// Adds the pieces of a word that runs diagonally upwards, with the boxes that a text layer gives rotated
// letters. Each piece begins where the previous one ends.
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

TEST(Stamps, ARepeatedStampAppearsOnce) {
  Sheet sheet;
  sheet.lines(50, 100, kProse);
  sheet.box({60, 102, 150, 136}, "SAMPLE").box({250, 102, 340, 136}, "SAMPLE");
  EXPECT_EQ(sheet.markdown(), kProseText + "\n\nSAMPLE");
}

TEST(Stamps, LargeLettersOverOneWordAreAStamp) {
  Sheet sheet;
  sheet.lines(50, 100, kProse).put(50, 160, "Pump").put(150, 160, "4").put(250, 160, "125.00");
  sheet.box({120, 153, 190, 177}, "COPY");
  const auto unstamped = without_stamps(sheet.page());
  ASSERT_TRUE(unstamped);
  EXPECT_EQ(unstamped->stamps, std::vector<std::string>{"COPY"});
}

TEST(Stamps, LargeLettersBesideAWordAreNone) {
  Sheet sheet;
  sheet.lines(50, 100, kProse).put(50, 160, "Total").box({80, 153, 150, 177}, "125.00");
  EXPECT_FALSE(without_stamps(sheet.page()));
}

TEST(Stamps, PiecesOfASlantedTextAreAStampThoughTheyAreLow) {
  Sheet sheet;
  sheet.lines(50, 100, kProse).put(50, 160, "Pump").put(150, 160, "4").put(250, 160, "125.00");
  sheet.box({100, 150, 128, 164}, "EIN").box({128, 155, 156, 169}, "GE").box({156, 160, 184, 174}, "HT");
  const auto unstamped = without_stamps(sheet.page());
  ASSERT_TRUE(unstamped);
  EXPECT_EQ(unstamped->stamps, std::vector<std::string>{"EINGEHT"});
}

TEST(Stamps, SteepPiecesBetweenTheWordsAreAStamp) {
  Sheet sheet;
  sheet.lines(50, 100, kProse);
  for (int i = 0; i < 5; ++i) {
    const auto at = static_cast<float>(25 * i);
    sheet.box({400 + at, 300 - at, 445 + at, 326 - at}, "S");
  }
  const auto unstamped = without_stamps(sheet.page());
  ASSERT_TRUE(unstamped);
  EXPECT_EQ(unstamped->stamps, std::vector<std::string>{"SSSSS"});
}

TEST(Stamps, StackedLinesOfATitleAreNone) {
  Sheet sheet;
  sheet.lines(50, 100, kProse);
  sheet.put(50, 300, "We", false, 2).put(50, 322, "count", false, 2).put(50, 344, "everything", false, 2);
  sheet.put(50, 366, "that we can count", false, 2).put(50, 388, "and so on and so forth", false, 2);
  EXPECT_FALSE(without_stamps(sheet.page()));
}

TEST(Stamps, LinesOfLargerTypeAreNone) {
  Sheet sheet;
  sheet.lines(50, 100, kProse)
      .put(50, 160, "Terms of", false, 1.3F)
      .put(90, 175, "delivery now", false, 1.3F);
  EXPECT_FALSE(without_stamps(sheet.page()));
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

TEST(Stamps, APageWithVeryManyTallLettersIsLeftAsItIs) {
  const auto stamped = [](int times) {
    Sheet sheet;
    for (int i = 0; i < 9; ++i) sheet.lines(50, 100 + 39 * static_cast<float>(i), kProse);
    for (int i = 0; i < times; ++i) sheet.box({60, 102, 150, 136}, "SAMPLE");
    return sheet.page();
  };
  EXPECT_TRUE(without_stamps(stamped(256)));
  EXPECT_FALSE(without_stamps(stamped(257)));
}

TEST(Stamps, LongWordsOfATextOnItsSideAreNone) {
  PageText page = Sheet().page();
  for (int line = 0; line < 3; ++line) {
    const float x = 100 + 11 * static_cast<float>(line);
    float y = 100 + 55 * static_cast<float>(line);
    for (const float length : {20.0F, 20.0F, 60.0F, 20.0F, 20.0F, 60.0F}) {
      page.words.push_back({{x, y, x + 12, y + length}, "mill", false, false, false, Orientation::kUp});
      y += length + 5;
    }
  }
  EXPECT_FALSE(without_stamps(page));
}

TEST(Stamps, SteepLettersAreAStampThoughTheyAreTakenForTurned) {
  Sheet sheet;
  sheet.lines(50, 100, kProse);
  put_rising(sheet, 150, 135, {"D", "RA", "FT"});
  PageText page = sheet.page();
  for (Word& word : page.words) {
    if (word.box.height() > kLetters) word.turn = Orientation::kUp;
  }
  const auto unstamped = without_stamps(page);
  ASSERT_TRUE(unstamped);
  EXPECT_EQ(unstamped->stamps, std::vector<std::string>{"DRAFT"});
}

}  // namespace
}  // namespace millrace::engines
