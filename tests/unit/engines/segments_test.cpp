#include "ai/engines/host/audio/segments.h"

#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::engines::host {
namespace {

RecognisedWord heard(const char* word, std::int64_t start, std::int64_t end) {
  return {word, start, end, -0.5};
}

TEST(Segments, ALineEndsAtAPause) {
  const std::vector<RecognisedWord> words{heard("i", 20, 40), heard("think", 42, 80), heard("so", 140, 170)};
  const auto piece = piece_of(words, WordStyle::kSpoken, std::vector<bool>(200), 60'000);
  ASSERT_EQ(piece.segments.size(), 2U);
  EXPECT_EQ(piece.segments[0].text, "I think");
  EXPECT_DOUBLE_EQ(piece.segments[0].start, 60.2);
  EXPECT_DOUBLE_EQ(piece.segments[0].end, 60.8);
  EXPECT_EQ(piece.segments[0].seek, 6'020);
  EXPECT_DOUBLE_EQ(piece.segments[0].avg_logprob, -0.5);
  EXPECT_TRUE(piece.segments[0].tokens.empty());
  EXPECT_EQ(piece.segments[1].text, "So");
  ASSERT_EQ(piece.words.size(), 3U);
  EXPECT_EQ(piece.words[0].word, "I");
  EXPECT_EQ(piece.words[2].word, "so");
  EXPECT_DOUBLE_EQ(piece.words[2].start, 61.4);
}

TEST(Segments, ALineIsNotLongerThanASubtitle) {
  std::vector<RecognisedWord> words;
  for (int i = 0; i < 60; ++i) words.push_back(heard("gateway", i * 30, i * 30 + 30));
  const auto piece = piece_of(words, WordStyle::kSpoken, {}, 0);
  for (const auto& segment : piece.segments) {
    EXPECT_LE(segment.text.size(), 80U);
    EXPECT_LE(segment.end - segment.start, 7.0);
  }
  EXPECT_EQ(piece.segments.at(0).text[0], 'G');
  EXPECT_EQ(piece.segments.at(1).text[0], 'g') << "the sentence continues";
  words.clear();
  for (int i = 0; i < 20; ++i) words.push_back(heard("so", i * 90, i * 90 + 60));
  for (const auto& segment : piece_of(words, WordStyle::kSpoken, {}, 0).segments)
    EXPECT_LE(segment.end - segment.start, 7.0);
}

TEST(Segments, ReportTheirSilenceAndTheirRepetition) {
  std::vector<bool> quiet(100);
  for (std::size_t i = 0; i < 25; ++i) quiet[i] = true;
  std::vector<RecognisedWord> words;
  for (int i = 0; i < 20; ++i) words.push_back(heard("no", i * 5, i * 5 + 5));
  const auto piece = piece_of(words, WordStyle::kSpoken, quiet, 0);
  EXPECT_DOUBLE_EQ(piece.segments.at(0).no_speech_prob, 0.25);
  EXPECT_GT(piece.segments.at(0).compression_ratio, 2.4);
  EXPECT_TRUE(piece_of({}, WordStyle::kSpoken, quiet, 0).segments.empty());
}

// Words of 0.3 s each, without pauses.
std::vector<RecognisedWord> written(const std::string& text) {
  std::vector<RecognisedWord> words;
  std::istringstream stream(text);
  std::int64_t at = 0;
  for (std::string word; stream >> word; at += 30) words.push_back({word, at, at + 30, 0});
  return words;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (const auto& segment : piece_of(written(text), WordStyle::kWritten, {}, 0).segments)
    lines.push_back(segment.text);
  return lines;
}

TEST(Segments, AWrittenLineEndsWithItsSentence) {
  EXPECT_EQ(lines_of("It rains. We go home! \"Why?\" He did not say."),
            (std::vector<std::string>{"It rains.", "We go home!", "\"Why?\"", "He did not say."}));
  EXPECT_EQ(lines_of("Mr. Dashwood and J. R. Smith paid 3.50 at No. 7 today."),
            (std::vector<std::string>{"Mr. Dashwood and J. R. Smith paid 3.50 at No. 7 today."}));
  EXPECT_EQ(lines_of("he said ... nothing at all"), (std::vector<std::string>{"he said ... nothing at all"}));
}

TEST(Segments, AWrittenLineThatIsTooLongIsCutAfterAComma) {
  EXPECT_EQ(
      lines_of("when the river rose above its banks, the miller, who had seen it before, opened the "
               "gates and waited"),
      (std::vector<std::string>{"when the river rose above its banks, the miller, who had seen it before,",
                                "opened the gates and waited"}));
}

TEST(Segments, LinesOfOtherScriptsEndWithTheirSentencesAndCountCharacters) {
  EXPECT_EQ(lines_of("Это дом. Он стар."), (std::vector<std::string>{"Это дом.", "Он стар."}));
  EXPECT_EQ(lines_of("水が流れる。 水車が回る。"),
            (std::vector<std::string>{"水が流れる。", "水車が回る。"}));
  const std::string seventy = "Старая мельница стоит у излучины реки уже много лет и много зим там";
  EXPECT_EQ(lines_of(seventy), std::vector<std::string>{seventy}) << "70 characters, 130 bytes";
}

TEST(Segments, AWrittenTextKeepsItsCase) {
  EXPECT_EQ(lines_of("and i left"), (std::vector<std::string>{"and i left"}));
}

}  // namespace
}  // namespace millrace::engines::host
