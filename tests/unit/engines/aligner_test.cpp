#include "ai/engines/host/audio/aligner.h"

#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "ai/engines/speech/recording.h"
#include "tests/unit/engines/timed_speech.h"

namespace millrace::engines::host {
namespace {

using base::Code;
using Samples = std::vector<std::int16_t>;

// Real speech: sentences of a chapter that was read for LibriVox (Debian's pocketsphinx-testdata).
const std::string kClips[][2] = {
    {"0880", "He was not an ill-disposed young man,"},
    {"0890", "unless to be rather cold-hearted, and rather selfish, is to be ill-disposed."},
    {"0920",
     "Had he married a more amiable woman, he might have been made still more respectable than he was:"},
    {"0930", "he might even have been made amiable himself."}};

const std::vector<std::string> kStory{
    "In 1984 the company sold 21 machines for $3.50 each.",
    "Today Kowalczyk's workshop sells more than 15,000 a year, or 12% of all.",
    "Nothing is lost, not even in a storm."};

Samples clip(const std::string& number) {
  std::ifstream file(
      "/usr/share/pocketsphinx/test/data/librivox/sense_and_sensibility_01_austen_64kb-" + number + ".wav",
      std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  constexpr std::size_t kHead = 44;
  Samples samples(bytes.size() < kHead ? 0 : (bytes.size() - kHead) / 2);
  if (!samples.empty()) std::memcpy(samples.data(), bytes.data() + kHead, samples.size() * 2);
  return samples;
}

Samples real_speech() {
  Samples all;
  for (const auto& row : kClips) {
    const Samples samples = clip(row[0]);
    all.insert(all.end(), samples.begin(), samples.end());
  }
  return all;
}

// The text of the clips in this order.
std::string text_of(const std::vector<std::size_t>& clips) {
  std::string text;
  for (const std::size_t i : clips) text += (text.empty() ? "" : " ") + kClips[i][1];
  return text;
}

std::string joined(const std::vector<std::string>& sentences) {
  std::string text;
  for (const std::string& sentence : sentences) text += (text.empty() ? "" : " ") + sentence;
  return text;
}

class AlignerTest : public ::testing::Test {
 protected:
  std::vector<RecognisedWord> aligned(const Samples& samples, const std::string& text) {
    auto words = aligner_.align(samples, text);
    EXPECT_TRUE(words) << (words ? "" : words.error().message);
    return words ? *words : std::vector<RecognisedWord>();
  }
  // The message with which the alignment fails.
  std::string failure(const Samples& samples, const std::string& text) {
    auto words = aligner_.align(samples, text);
    EXPECT_FALSE(words) << text;
    if (words) return "";
    EXPECT_EQ(words.error().code, Code::kPieceFailed);
    return words.error().message;
  }
  // At least this percentage of the words begins within 0.12 s of the synthesiser's own time, and the mean is
  // far below. On many texts it is 98 %; of these few words, chance in the voice can move two or three.
  void expect_times(const std::vector<RecognisedWord>& words, const TimedSpeech& speech, double shift,
                    double mean_max, std::size_t near_min = 90) {
    ASSERT_EQ(words.size(), speech.words.size());
    double sum = 0;
    std::size_t near = 0;
    for (std::size_t i = 0; i < words.size(); ++i) {
      const double off = std::abs(static_cast<double>(words[i].start) / 100 - shift - speech.words[i].start);
      sum += off;
      if (off <= 0.12) ++near;
    }
    EXPECT_GE(near * 100, words.size() * near_min);
    EXPECT_LT(sum / static_cast<double>(words.size()), mean_max);
  }

  SpeechAligner aligner_;
};

TEST_F(AlignerTest, WordsBeginWhereTheSynthesiserSpeaksThem) {
  const auto speech = timed_speech(kStory);
  const auto words = aligned(speech.samples, joined(kStory));
  expect_times(words, speech, 0, 0.03);
  ASSERT_EQ(words.size(), 31U);
  EXPECT_EQ(words[8].word, "$3.50");
  EXPECT_EQ(words[9].word, "each.");
  EXPECT_EQ(words[11].word, "Kowalczyk's");
  EXPECT_GT(words[8].end - words[8].start, 80) << "three dollars fifty cents";
}

TEST_F(AlignerTest, WordsBeginWhereTheSynthesiserSpeaksThemInNoise) {
  auto speech = timed_speech(kStory);
  add_noise(speech.samples, 20);
  expect_times(aligned(speech.samples, joined(kStory)), speech, 0, 0.08, 80);
}

TEST_F(AlignerTest, SilenceAtBothEndsIsNotPartOfTheWords) {
  const auto speech = timed_speech({kStory[2]});
  Samples padded(2 * 16'000);
  padded.insert(padded.end(), speech.samples.begin(), speech.samples.end());
  padded.resize(padded.size() + 3 * 16'000);
  const auto words = aligned(padded, kStory[2]);
  expect_times(words, speech, 2, 0.04);
  EXPECT_LT(words.back().end, 200 + static_cast<std::int64_t>(speech.samples.size() / 160));
}

TEST_F(AlignerTest, RealSpeechIsAlignedInOrder) {
  const Samples samples = real_speech();
  ASSERT_GT(samples.size(), 200'000U) << "pocketsphinx-testdata is not installed";
  const auto words = aligned(samples, text_of({0, 1, 2, 3}));
  ASSERT_EQ(words.size(), 45U);
  std::int64_t before = 0;
  double log_prob = 0;
  for (const RecognisedWord& word : words) {
    EXPECT_GE(word.start, before) << word.word;
    EXPECT_GT(word.end, word.start) << word.word;
    EXPECT_LE(word.log_prob, 0);
    before = word.end;
    log_prob += word.log_prob / 45;
  }
  EXPECT_GT(log_prob, -0.2);
  EXPECT_NEAR(static_cast<double>(words[7].start) / 100, 3.2, 0.15) << "the second sentence";
}

TEST_F(AlignerTest, AFewWrongWordsAreAlignedAndDoubted) {
  const auto words =
      aligned(real_speech(),
              "He was not an elephant young man, unless to be rather cold-hearted, and rather "
              "selfish, is to be ill-disposed. Had he married a more purple woman, he might have "
              "been bought still more respectable than he was: he might even have been made "
              "amiable tomorrow.");
  ASSERT_EQ(words.size(), 45U);
  for (const std::size_t i : {std::size_t{4}, std::size_t{24}}) {
    EXPECT_LT(words[i].log_prob, std::log(0.5)) << words[i].word;
  }
}

TEST_F(AlignerTest, ATextOfOtherContentFails) {
  const Samples samples = real_speech();
  failure(samples,
          "Turn left at the church and follow the river for two miles. You will pass a red barn and a "
          "broken windmill. The road climbs steeply through the forest.");
  failure(samples, "Twelve.");
  failure(clip("0890"), "My grandmother baked bread every Friday morning.");
}

TEST_F(AlignerTest, ATextWithoutOneOfTheSentencesFails) {
  const Samples samples = real_speech();
  failure(samples, text_of({0, 1, 3}));
  failure(samples, text_of({1, 2, 3}));
  failure(samples, text_of({0, 1, 2}));
}

TEST_F(AlignerTest, ATextThatRepeatsItselfFails) {
  failure(real_speech(), text_of({0, 1, 1, 2, 3}));
  std::string text = kClips[1][1];
  for (int i = 0; i < 40; ++i) text += " to be ill-disposed.";
  EXPECT_NE(failure(clip("0890"), text).find("more words than can be said"), std::string::npos);
}

TEST_F(AlignerTest, NothingToSayHasNoTimes) {
  const Samples samples = clip("0880");
  EXPECT_TRUE(aligned(samples, "").empty());
  EXPECT_TRUE(aligned(samples, " \n ").empty());
  EXPECT_TRUE(aligned({}, "").empty());
  const auto words = aligned(samples, "\u2014 ... \u65e5\u672c");
  ASSERT_EQ(words.size(), 3U);
  EXPECT_EQ(words[2].word, "\u65e5\u672c");
  EXPECT_EQ(words[2].end, 0);
}

TEST_F(AlignerTest, SoundWithoutSpeechFails) {
  failure({}, "Hello.");
  failure(Samples(100), "Hello.");
  failure(Samples(5 * 16'000), "Hello, is anybody there?");
  Samples noise(5 * 16'000, 1'000);
  add_noise(noise, 0);
  failure(noise, "Hello, is anybody there? Nobody answered the question.");
}

TEST_F(AlignerTest, LimitsAreNamed) {
  const Samples samples = clip("0880");
  std::string text;
  while (text.size() < 20'000) text += "again and ";
  EXPECT_NE(failure(samples, text).find("kAlignedTextBytesMax"), std::string::npos);
  EXPECT_NE(failure(Samples(kPieceMsMax * 16 + 1), "Hello.").find("kPieceMsMax"), std::string::npos);
  text.clear();
  while (text.size() < kAlignedTextBytesMax - 10) text += "$9876.54 ";
  EXPECT_NE(failure(samples, text).find("kAlignedStatesMax"), std::string::npos);
}

TEST_F(AlignerTest, ManyUnknownWordsDoNotStay) {
  const Samples samples = clip("0930");
  int number = 0;
  for (int i = 0; i < 25; ++i) {
    std::string text;
    for (int word = 0; word < 450; ++word, ++number) {
      text += "qu";
      for (int rest = number; rest > 0; rest /= 26) text += static_cast<char>('a' + rest % 26);
      text += "zo ";
    }
    failure(samples, text);
  }
  EXPECT_EQ(aligned(samples, kClips[3][1]).size(), 8U);
}

}  // namespace
}  // namespace millrace::engines::host
