#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ai/engines/layout/direction.h"
#include "ai/engines/layout/layer_words.h"
#include "tests/unit/engines/sheet.h"

namespace millrace::engines {
namespace {

using ::testing::Each;
using ::testing::FloatNear;

std::vector<Word> all_turned(std::vector<Word> words, Orientation turn) {
  for (Word& word : words) word.turn = turn;
  return words;
}

TEST(TurnedPage, IsTurnedTheWayThatMostOfItsWordsRun) {
  std::vector<Word> words = Sheet().put(50, 100, "one two three").page().words;
  EXPECT_EQ(turns_to_upright(words), 0);
  EXPECT_EQ(turns_to_upright(all_turned(words, Orientation::kUp)), 1);
  EXPECT_EQ(turns_to_upright(all_turned(words, Orientation::kOver)), 2);
  EXPECT_EQ(turns_to_upright(all_turned(words, Orientation::kDown)), 3);
  words[0].turn = Orientation::kUp;
  EXPECT_EQ(turns_to_upright(words), 0) << "a label at the side";
  EXPECT_EQ(turns_to_upright({}), 0);
}

TEST(TurnedPage, WordsAreUprightAndTheOthersTurnWithThem) {
  for (const Orientation turn : {Orientation::kUp, Orientation::kOver, Orientation::kDown}) {
    PageText page = Sheet().put(50, 100, "one two three").page();
    page.words = all_turned(page.words, turn);
    page.words[2].turn = Orientation::kNone;
    const int turns = turns_to_upright(page.words);
    turn_page(page, turns);
    EXPECT_EQ(page.width, turns == 2 ? 600 : 800);
    EXPECT_EQ(page.words[0].turn, Orientation::kNone);
    EXPECT_NE(page.words[2].turn, Orientation::kNone);
    turn_page(page, 4 - turns);
    EXPECT_EQ(page.words[0].turn, turn);
    EXPECT_EQ(page.words[2].turn, Orientation::kNone);
    EXPECT_FLOAT_EQ(page.words[0].box.x0, 50);
    EXPECT_FLOAT_EQ(page.words[0].box.y0, 100);
  }
}

TEST(TurnedPage, AShortWordAloneIsTurnedLikeTheOthersIfItsBoxLies) {
  std::vector<Word> words;
  for (float y = 500; y > 100; y -= 50) words.push_back({{100, y - 40, 110, y}, "Harbour"});
  words.push_back({{130, 300, 140, 306}, "A"});    // lies, as high letters do that run upwards
  words.push_back({{160, 300, 170, 313}, "(3)"});  // aligned with nothing
  words.push_back({{190, 300, 196, 310}, "7"});    // stands
  std::vector<std::size_t> lines{0, 8, 9, 10};
  mark_orientations(words, lines);
  EXPECT_EQ(words[0].turn, Orientation::kUp);
  EXPECT_EQ(words[8].turn, Orientation::kUp);
  EXPECT_EQ(words[9].turn, Orientation::kUp);
  EXPECT_EQ(words[10].turn, Orientation::kNone);
}

TEST(TurnedPage, TextThatIsUprightOnThePageComesFirst) {
  PageText page = Sheet().put(50, 100, "one two three").put(50, 20, "Appendix").page();
  for (Word& word : page.words) word.turn = word.text == "Appendix" ? Orientation::kNone : Orientation::kUp;
  turn_page(page, turns_to_upright(page.words));
  const std::vector<PageText> parts = plain_pages(page);
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].words.front().text, "Appendix");
}

// Words of Tesseract's hidden text: the box of each lacks its last letter.
std::vector<Word> cut_words() {
  std::vector<Word> words = Sheet().put(50, 100, "the total of all 8 amounts").page().words;
  for (Word& word : words) {
    const auto letters = static_cast<float>(word.text.size());
    word.box.x1 -= word.box.width() / (letters + 1);
  }
  return words;
}

std::vector<float> gaps_of(const std::vector<Word>& words) {
  std::vector<float> gaps;
  for (std::size_t i = 1; i < words.size(); ++i) gaps.push_back(words[i].box.x0 - words[i - 1].box.x1);
  return gaps;
}

TEST(CutBoxes, WordsOfHiddenTextGetTheirLastLetters) {
  std::vector<Word> words = cut_words();
  mend_cut_boxes(words);
  EXPECT_THAT(gaps_of(words), Each(FloatNear(kCharacter, 0.1F)));
}

TEST(CutBoxes, WordsWithOrdinaryGapsStay) {
  std::vector<Word> words = Sheet().put(50, 100, "the total of all 8 amounts").page().words;
  mend_cut_boxes(words);  // the gaps are as wide as a letter of a font of fixed width
  EXPECT_THAT(gaps_of(words), Each(FloatNear(kCharacter, 0.1F)));
}

TEST(CutBoxes, WordsOnEndGetTheirLastLetters) {
  for (const Orientation turn : {Orientation::kUp, Orientation::kDown, Orientation::kOver}) {
    PageText page = Sheet().page();
    page.words = cut_words();
    const int turns = turn == Orientation::kUp ? 1 : turn == Orientation::kOver ? 2 : 3;
    turn_page(page, 4 - turns);
    mend_cut_boxes(page.words);
    turn_page(page, turns);
    EXPECT_THAT(gaps_of(page.words), Each(FloatNear(kCharacter, 0.1F)));
  }
}

}  // namespace
}  // namespace millrace::engines
