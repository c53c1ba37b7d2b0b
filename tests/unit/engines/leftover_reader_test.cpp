#include "ai/engines/host/scan/leftover_reader.h"

#include <gtest/gtest.h>

#include "ai/engines/host/scan/part_reader.h"

namespace millrace::engines::host {
namespace {

const Leader kLeader{{200, 118, 500, 120}, 40};

Box letter_at(float x, float y, float height) { return {x, y - height, x + height / 2, y}; }

TEST(LinesLeft, ADigitAtTheEndOfALeaderIsOne) {
  const auto lines = lines_left({letter_at(520, 120, 12)}, {}, {kLeader}, {}, {});
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_FLOAT_EQ(lines[0].x0, 520);
}

TEST(LinesLeft, WhatIsReadOrFarFromTheLeaderIsNone) {
  const Box digit = letter_at(520, 120, 12);
  EXPECT_TRUE(lines_left({digit}, {}, {kLeader}, {{{518, 106, 530, 122}, "3"}}, {}).empty());
  EXPECT_TRUE(lines_left({letter_at(520, 150, 12)}, {}, {kLeader}, {}, {}).empty());
  EXPECT_TRUE(lines_left({letter_at(600, 120, 12)}, {}, {kLeader}, {}, {}).empty());
  EXPECT_TRUE(lines_left({digit}, {}, {}, {}, {}).empty());
}

TEST(LinesLeft, LargeLettersBesideEachOtherAreOne) {
  const std::vector<Box> tall{letter_at(50, 200, 100), letter_at(110, 200, 100), letter_at(50, 400, 100),
                              letter_at(110, 400, 100), letter_at(400, 600, 100)};
  const auto lines = lines_left({}, tall, {}, {}, {});
  ASSERT_EQ(lines.size(), 2U) << "a single one may be a drawing";
  EXPECT_FLOAT_EQ(lines[0].x1, 160);
  EXPECT_TRUE(lines_left({}, tall, {}, {}, {{0, 0, 500, 700}}).empty()) << "they are a part of a figure";
  EXPECT_TRUE(lines_left({}, std::vector<Box>(500, tall[0]), {}, {}, {}).empty());
}

TEST(UnreadLines, LettersBesideEachOtherThatNoWordHoldsAreOne) {
  std::vector<Box> letters;
  for (int i = 0; i < 6; ++i) letters.push_back(letter_at(50 + 8 * static_cast<float>(i), 120, 12));
  letters.push_back(letter_at(300, 120, 12));
  const auto lines = unread_lines(letters, {}, {});
  ASSERT_EQ(lines.size(), 1U) << "a few letters may be a mark";
  EXPECT_FLOAT_EQ(lines[0].x0, 50);
  EXPECT_TRUE(unread_lines(letters, {{{48, 106, 100, 122}, "pepper"}}, {}).empty());
  EXPECT_TRUE(unread_lines(letters, {}, {{0, 0, 200, 200}}).empty()) << "they are a part of a picture";
}

TEST(UnreadLines, WhatWasPaleStaysOnlyIfItIsReadWell) {
  Word sure{{50, 100, 90, 112}, "terms"}, doubtful{{95, 100, 120, 112}, "Ji"};
  sure.confidence = 93;
  doubtful.confidence = 40;
  const std::vector<Box> pale{{48, 98, 125, 114}};
  std::vector<Word> words{sure, doubtful};
  remove_badly_read(pale, words);
  EXPECT_EQ(words.size(), 2U) << "one doubtful word removes no line";
  words = {doubtful};
  remove_badly_read({}, words);
  EXPECT_EQ(words.size(), 1U) << "it was not pale";
  remove_badly_read(pale, words);
  EXPECT_TRUE(words.empty());
}

TEST(PartReader, AColumnThatATextCrossesCutsWords) {
  const std::vector<Word> numbers{{{300, 100, 330, 112}, "12.50"}, {{300, 120, 330, 132}, "99.00"}};
  const Box column{296, 98, 334, 160};
  EXPECT_FALSE(cuts_words(column, numbers));
  for (const float x : {280.0F, 310.0F}) {
    std::vector<Word> crossed = numbers;
    crossed.push_back({{x, 140, x + 45, 152}, "including"});
    EXPECT_TRUE(cuts_words(column, crossed)) << x;
    EXPECT_FALSE(cuts_words({296, 98, 334, 134}, crossed)) << "it stands below";
  }
}

}  // namespace
}  // namespace millrace::engines::host
