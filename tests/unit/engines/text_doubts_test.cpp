#include "ai/engines/host/audio/text_doubts.h"

#include <sstream>

#include <gtest/gtest.h>

namespace millrace::engines::host {
namespace {

bool repeats(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream stream(text);
  for (std::string word; stream >> word;) words.push_back(word);
  return repeats_itself(words);
}

TEST(TextDoubts, SixWordsASecondAreTheMost) {
  EXPECT_FALSE(is_too_fast(60, 1'000));
  EXPECT_TRUE(is_too_fast(61, 1'000));
  EXPECT_TRUE(is_too_fast(159, 1'200));
  EXPECT_FALSE(is_too_fast(6, 20)) << "few words in a short sound are no fault";
  EXPECT_FALSE(is_too_fast(0, 0));
}

TEST(TextDoubts, ATextThatRepeatsItselfIsDoubted) {
  EXPECT_TRUE(repeats("and then we go. And then we go, and then we go"));
  EXPECT_TRUE(repeats("he said that no no no no no no no no"));
  EXPECT_TRUE(repeats("first the mill the mill, the mill the Mill. after"));
  EXPECT_TRUE(repeats("so wir gehen über die Brücke wir gehen über die Brücke wir gehen über die Brücke"));
}

TEST(TextDoubts, PeopleRepeatAFewWords) {
  EXPECT_FALSE(repeats("no, no, no, no, I did not"));
  EXPECT_FALSE(repeats("ever tried, ever failed, no matter, try again, fail again, fail better"));
  EXPECT_FALSE(repeats("row row row your boat gently down the stream"));
  EXPECT_FALSE(
      repeats("we shall fight on the beaches, we shall fight on the landing grounds, we shall fight in "
              "the fields"));
  EXPECT_FALSE(repeats(""));
}

}  // namespace
}  // namespace millrace::engines::host
