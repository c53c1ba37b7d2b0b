#include <cmath>

#include <gtest/gtest.h>

#include "ai/engines/host/audio/loudness.h"
#include "ai/engines/speech/recording.h"

namespace millrace::engines::host {
namespace {

constexpr std::uint8_t kSpeech = 75;
constexpr std::uint8_t kHushed = 20;

// The levels of a recording with speech, the short gaps between its sounds, and pauses.
class Talk {
 public:
  explicit Talk(std::uint8_t background = kHushed) : background_(background) {}
  Talk& speech(double seconds) {
    const auto frames = static_cast<std::size_t>(std::lround(seconds * 100));
    for (std::size_t i = 0; i < frames; ++i) levels_.push_back(i % 30 >= 26 ? background_ : kSpeech);
    return *this;
  }
  Talk& even(double seconds) { return add(seconds, kSpeech); }
  Talk& pause(double seconds) { return add(seconds, background_); }
  std::vector<schemas::AudioPiece> cut() const { return cut_at_pauses(levels_, ms(), kPieceMsMax); }
  std::int64_t ms() const { return static_cast<std::int64_t>(levels_.size()) * kFrameMs; }

 private:
  Talk& add(double seconds, std::uint8_t level) {
    levels_.insert(levels_.end(), static_cast<std::size_t>(std::lround(seconds * 100)), level);
    return *this;
  }
  std::uint8_t background_;
  std::vector<std::uint8_t> levels_;
};

void expect_covered(const std::vector<schemas::AudioPiece>& pieces, std::int64_t ms) {
  std::int64_t at = 0;
  int index = 0;
  for (const schemas::AudioPiece& piece : pieces) {
    EXPECT_EQ(piece.index, index++);
    EXPECT_EQ(piece.start_ms, at);
    EXPECT_LE(piece.end_ms - piece.start_ms, kPieceMsMax);
    EXPECT_GT(piece.end_ms, at);
    at = piece.end_ms;
  }
  EXPECT_EQ(at, ms);
}

TEST(Pauses, AShortRecordingIsOnePiece) {
  const Talk talk = Talk().speech(20).pause(1).speech(20);
  ASSERT_EQ(talk.cut().size(), 1U);
  expect_covered(talk.cut(), talk.ms());
}

TEST(Pauses, ALongOneIsCutInTheMiddleOfItsLongestPause) {
  const Talk talk = Talk().speech(35).pause(0.6).speech(8).pause(1.2).speech(10).pause(0.6).speech(30);
  const auto pieces = talk.cut();
  expect_covered(pieces, talk.ms());
  ASSERT_EQ(pieces.size(), 2U);
  EXPECT_NEAR(static_cast<double>(pieces[0].end_ms), 44'200, 50);
}

TEST(Pauses, AShortGapIsNoPause) {
  const Talk talk = Talk().speech(33).pause(0.3).speech(10).pause(0.7).speech(30);
  EXPECT_NEAR(static_cast<double>(talk.cut().at(0).end_ms), 43'650, 50);
}

TEST(Pauses, NoiseBetweenTheWordsIsAPauseWhereSpeechIsLouder) {
  const Talk talk = Talk(55).speech(40).pause(1).speech(5).pause(0.2).speech(30);
  EXPECT_NEAR(static_cast<double>(talk.cut().at(0).end_ms), 40'500, 50);
}

TEST(Pauses, SpeechWithoutAPauseIsCutAtItsQuietestPlace) {
  const Talk talk = Talk().even(50).pause(0.25).even(50);
  const auto pieces = talk.cut();
  expect_covered(pieces, talk.ms());
  EXPECT_NEAR(static_cast<double>(pieces.at(0).end_ms), 50'125, 100);
}

TEST(Pauses, AnEvenNoiseIsCutIntoPiecesThatAreNotTooLong) {
  const Talk talk = Talk().even(3'605);
  const auto pieces = talk.cut();
  expect_covered(pieces, talk.ms());
  EXPECT_LE(pieces.size(), 62U);
}

TEST(Pauses, SilenceAloneHasNoPieces) {
  EXPECT_TRUE(Talk().pause(300).cut().empty());
  EXPECT_TRUE(Talk().pause(10).speech(0.05).pause(10).cut().empty()) << "a click is not speech";
  EXPECT_LE(Talk().pause(300).speech(5).cut().size(), 7U);
}

TEST(LoudnessOfSamples, IsTheSameHoweverTheyAreCut) {
  std::vector<std::int16_t> samples(16'000);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    samples[i] = static_cast<std::int16_t>(10'000 * std::sin(static_cast<double>(i) / 9));
  }
  Loudness whole;
  whole.feed(samples);
  Loudness cut;
  for (std::size_t at = 0; at < samples.size();) {
    const std::size_t count = std::min<std::size_t>(1 + at % 371, samples.size() - at);
    cut.feed(std::span(samples).subspan(at, count));
    at += count;
  }
  EXPECT_EQ(whole.levels(), cut.levels());
  EXPECT_EQ(whole.levels().size(), 100U);
  EXPECT_EQ(whole.levels()[50], 77) << "10,000 / √2";
  EXPECT_EQ(whole.samples(), 16'000);
}

}  // namespace
}  // namespace millrace::engines::host
