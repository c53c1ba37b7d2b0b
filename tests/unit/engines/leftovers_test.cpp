#include <gtest/gtest.h>

#include "ai/engines/host/scan/recogniser.h"

namespace millrace::engines::host {
namespace {

constexpr float kHeight = 12;
constexpr float kAdvance = 10;

Box box_at(float x, float y, float across) { return {x, y, x + across, y + kHeight}; }

// Letters next to each other, starting at `x`.
std::vector<Box> letters_at(float x, float y, int count) {
  std::vector<Box> letters;
  for (int i = 0; i < count; ++i) {
    letters.push_back(box_at(x + kAdvance * static_cast<float>(i), y, kAdvance - 2));
  }
  return letters;
}

TEST(UnreadLetters, APageThatIsReadAsAWholeLeavesNothing) {
  const UnreadLetters left = unread_letters(letters_at(100, 50, 20), {{box_at(100, 50, 200), 1}}, {});
  EXPECT_EQ(left.count(), 0U);
  EXPECT_FALSE(needs_second_pass(left, 20));
}

TEST(UnreadLetters, LettersInNoWordAreLeft) {
  const UnreadLetters left = unread_letters(letters_at(100, 50, 20), {{box_at(100, 50, 100), 1}}, {});
  EXPECT_EQ(left.letters, 10U);
  EXPECT_TRUE(needs_second_pass(left, 20));
}

TEST(UnreadLetters, LettersOfARowBelowAWordAreNotInIt) {
  EXPECT_EQ(unread_letters(letters_at(100, 70, 5), {{box_at(100, 50, 100), 1}}, {}).letters, 5U);
}

TEST(UnreadLetters, LettersInAPictureAreNone) {
  EXPECT_EQ(unread_letters(letters_at(100, 50, 20), {}, {{90, 40, 400, 300}}).letters, 0U);
}

TEST(UnreadLetters, AWordWithABorderOfTwoBlocksThroughItIsTorn) {
  const std::vector<Placed> prices{
      {box_at(100, 50, 20), 1}, {box_at(123, 50, 20), 2}, {box_at(100, 70, 20), 1}, {box_at(123, 70, 20), 2}};
  const UnreadLetters left = unread_letters({}, prices, {});
  EXPECT_EQ(left.torn, 2U);
  EXPECT_TRUE(needs_second_pass(left, 1000));
}

TEST(UnreadLetters, ColumnsAndTheWordsOfOneBlockAreNotTorn) {
  const std::vector<Placed> columns{{box_at(100, 50, 20), 1}, {box_at(150, 50, 20), 2}};
  EXPECT_EQ(unread_letters({}, columns, {}).torn, 0U);
  const std::vector<Placed> words{{box_at(100, 50, 20), 1}, {box_at(123, 50, 20), 1}};
  EXPECT_EQ(unread_letters({}, words, {}).torn, 0U);
}

TEST(UnreadLetters, AFewLettersOfAFullPageAreNotWorthAnotherLook) {
  EXPECT_FALSE(needs_second_pass({.letters = 39, .torn = 1}, 2000));
  EXPECT_TRUE(needs_second_pass({.letters = 40, .torn = 0}, 2000));
}

TEST(UnreadLetters, NoiseIsNotSearched) {
  EXPECT_EQ(unread_letters(letters_at(0, 50, static_cast<int>(kLeftoversMax) + 1), {}, {}).count(), 0U);
}

}  // namespace
}  // namespace millrace::engines::host
