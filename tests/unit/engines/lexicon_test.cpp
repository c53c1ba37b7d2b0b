#include "ai/engines/host/audio/lexicon.h"

#include <gtest/gtest.h>

#include "ai/engines/host/audio/voice.h"
#include "ai/engines/host/audio/voice_text.h"
#include "tests/support/temp_dir.h"

namespace millrace::engines::host {
namespace {

using Words = std::vector<std::string>;

base::Result<Lexicon> lexicon_of(const std::string& text) {
  const support::TempDir dir;
  dir.write("lexicon.txt", text);
  return Lexicon::read(dir.str() + "/lexicon.txt");
}

const std::string kLines =
    "# a comment\n\nguten || ɡ uː\nguten morgen || M\nMühle m y\nwie geht's || W\nbroken ||\n|| x\nalone\n";

std::u32string spoken(const std::string& text, Words& missing) {
  const auto lexicon = lexicon_of(kLines);
  EXPECT_TRUE(lexicon);
  return lexicon->phonemes(
      text, [](const std::string&) { return std::u32string(); }, missing);
}

TEST(Lexicon, TheLongestEntryIsUsedAndCaseDoesNotCount) {
  Words missing;
  EXPECT_EQ(spoken("Guten Morgen, GUTEN mühle! MÜHLE?", missing), U"M, ɡuː my! my?");
  EXPECT_EQ(spoken("„Wie geht’s“ — guten…", missing), U"W, ɡuː.");
  EXPECT_EQ(missing, Words());
}

TEST(Lexicon, WordsThatItLacksAreReported) {
  Words missing;
  EXPECT_EQ(spoken("Guten Tag * 42, broken alone", missing), U"ɡuː,");
  EXPECT_EQ(missing, (Words{"tag", "42", "broken", "alone"}));
}

TEST(Lexicon, OneWithoutAnEntryIsAnError) {
  EXPECT_FALSE(lexicon_of("# nothing\n"));
  EXPECT_FALSE(Lexicon::read("/nonexistent"));
}

TEST(VoiceText, AnEnglishWordThatTheLexiconLacksIsPronouncedByRule) {
  const auto lexicon = lexicon_of("mill || M\n");
  ASSERT_TRUE(lexicon);
  const auto english = phonemes_of("The mill.", &*lexicon, true, kSentenceMax);
  ASSERT_TRUE(english) << english.error().message;
  EXPECT_EQ(*english, Phonemes{U"ðə M."});
  const auto other = phonemes_of("The mill.", &*lexicon, false, kSentenceMax);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, base::Code::kInvalidField);
  EXPECT_NE(other.error().message.find("these words: the;"), std::string::npos) << other.error().message;
}

TEST(VoiceText, WithoutALexiconFliteReadsNumbersAndAbbreviations) {
  const auto read = phonemes_of("Dr. Smith has 12 dogs!", nullptr, true, kSentenceMax);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, Phonemes{U"dˈɑːktɚ smˈɪθ hæz twˈɛlv dˈɑːɡz!"});
  EXPECT_FALSE(phonemes_of("...", nullptr, true, kSentenceMax));
}

TEST(VoiceText, ALongSentenceIsCutBetweenCharacters) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "ü";
  std::string joined;
  for (const std::string& part : sentences_of(text, 51)) {
    EXPECT_LE(part.size(), 51U);
    EXPECT_EQ(static_cast<unsigned char>(part.front()), 0xC3) << "a part begins within a character";
    joined += part;
  }
  EXPECT_EQ(joined, text);
}

}  // namespace
}  // namespace millrace::engines::host
