#include <cmath>
#include <numbers>
#include <string>

#include <gtest/gtest.h>

#include "ai/engines/host/audio/encoder.h"
#include "ai/engines/host/audio/voice.h"

namespace millrace::engines::host {
namespace {

TEST(SpokenText, IsPlainEnglish) {
  EXPECT_EQ(plain_text("It\u2019s a \u201ccaf\u00e9\u201d \u2014 really\u2026"),
            "It's a \"cafe\" ,  really... ");
  EXPECT_EQ(plain_text("\u65e5\u672c"), "  ");
  EXPECT_EQ(plain_text("a\xff\xc3"), "a  ");
  EXPECT_EQ(plain_text("a\tb\nc"), "a b\nc");
}

TEST(SpokenText, IsSpokenSentenceBySentence) {
  EXPECT_EQ(
      sentences_of("One. Two!  Three? (Four.) Mr. Fox is 3.5 feet tall\nNext"),
      (std::vector<std::string>{"One.", "Two!", "Three?", "(Four.)", "Mr. Fox is 3.5 feet tall\n", "Next"}));
  EXPECT_TRUE(sentences_of("... --- !").empty());
}

TEST(SpokenText, ALongSentenceIsCutAndTheFirstIsShort) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += i % 15 == 14 ? "word, " : "word ";
  const auto sentences = sentences_of(text);
  EXPECT_LE(sentences.at(0).size(), 120U);
  EXPECT_EQ(sentences.at(0).back(), ',');
  for (const std::string& sentence : sentences) EXPECT_LE(sentence.size(), 300U);
  EXPECT_EQ(sentences_of(std::string(1'000, 'a')).size(), 4U);
  EXPECT_EQ(
      sentences_of("Whoever waits for the first sound of it, waits for this half of the sentence.").size(),
      2U);
}

// Resamples a tone of `hertz` to 24 kHz. Returns its amplitude and the amplitude of everything else.
std::pair<double, double> resampled(double hertz) {
  std::vector<std::int16_t> samples(16'000);
  const double step = 2 * std::numbers::pi * hertz / kVoiceRate;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    samples[i] = static_cast<std::int16_t>(std::lround(10'000 * std::sin(step * static_cast<double>(i))));
  }
  Resampler resampler;
  std::vector<std::int16_t> out;
  for (std::size_t at = 0; at < samples.size(); at += 777) {
    const auto some = std::span(samples).subspan(at, std::min<std::size_t>(777, samples.size() - at));
    const auto more = resampler.next(some);
    out.insert(out.end(), more.begin(), more.end());
  }
  EXPECT_NEAR(static_cast<double>(out.size()), 24'000, 2);
  double sine = 0, cosine = 0, power = 0;
  constexpr double count = 21'600;  // a whole number of periods of each tone
  for (std::size_t i = 1'000; i < 22'600; ++i) {
    const double angle = 2 * std::numbers::pi * hertz / kSpeechRate * static_cast<double>(i);
    sine += out[i] * std::sin(angle);
    cosine += out[i] * std::cos(angle);
    power += static_cast<double>(out[i]) * out[i];
  }
  const double amplitude = 2 * std::hypot(sine, cosine) / count;
  return {amplitude, std::sqrt(std::max(0.0, 2 * power / count - amplitude * amplitude))};
}

TEST(Resampling, KeepsAToneAndAddsNone) {
  for (const double hertz : {120.0, 1'000.0, 3'400.0, 6'000.0}) {
    const auto [amplitude, rest] = resampled(hertz);
    EXPECT_NEAR(amplitude, 10'000, 300) << hertz;
    EXPECT_LT(rest, 100) << hertz;
  }
}

}  // namespace
}  // namespace millrace::engines::host
