#include "ai/engines/host/audio/long_pauses.h"

#include <gtest/gtest.h>

namespace millrace::engines::host {
namespace {

constexpr std::uint8_t kHum = 40, kVoice = 70;
constexpr std::size_t kFrameSize = 160;

using LevelList = std::vector<std::uint8_t>;

LevelList stretches(std::initializer_list<std::pair<int, std::uint8_t>> all) {
  LevelList levels;
  for (const auto& [frames, level] : all)
    levels.insert(levels.end(), static_cast<std::size_t>(frames), level);
  return levels;
}

// Each sample is the number of its frame.
std::vector<std::int16_t> numbered_samples(const LevelList& levels) {
  std::vector<std::int16_t> samples;
  for (std::size_t frame = 0; frame < levels.size(); ++frame)
    samples.insert(samples.end(), kFrameSize, static_cast<std::int16_t>(frame));
  return samples;
}

TEST(LongPauses, AtTheEndsAreCutAndTheFramesBetweenThemKeepTheirPlaces) {
  const LevelList levels = stretches({{900, 0}, {70, kVoice}, {900, 0}});
  const auto samples = numbered_samples(levels);
  const ShortenedSound sound(samples, levels);
  ASSERT_EQ(sound.levels().size(), 30U + 70U + 30U);
  ASSERT_EQ(sound.samples().size(), sound.levels().size() * kFrameSize);
  EXPECT_EQ(sound.frame_before(30), 900);
  EXPECT_EQ(sound.samples()[30 * kFrameSize], 900);
  EXPECT_EQ(sound.frame_before(99), 969);
  EXPECT_EQ(sound.frame_before(130), 1000) << "the end";
}

TEST(LongPauses, OfBackgroundNoiseAreFoundBelowLouderSpeech) {
  const LevelList levels =
      stretches({{100, kVoice}, {500, kHum}, {100, kVoice}, {299, kHum + 2}, {100, kVoice}});
  const ShortenedSound sound(numbered_samples(levels), levels);
  EXPECT_EQ(sound.levels().size(), 100U + 100U + 100U + 299U + 100U) << "a pause of 3 s stays";
  EXPECT_EQ(sound.frame_before(200), 600);
}

TEST(LongPauses, SpeechThatIsHardlyLouderThanTheNoiseStays) {
  const LevelList levels = stretches({{400, kHum}, {100, kHum + 10}, {400, kHum}});
  EXPECT_EQ(ShortenedSound(numbered_samples(levels), levels).levels().size(), 900U);
}

TEST(LongPauses, AnUnfinishedLastFrameIsKept) {
  const LevelList levels = stretches({{400, 0}, {10, kVoice}});
  auto samples = numbered_samples(levels);
  samples.resize(samples.size() - 100);
  const ShortenedSound sound(samples, levels);
  EXPECT_EQ(sound.levels().size(), 40U);
  EXPECT_EQ(sound.samples().size(), 40 * kFrameSize - 100);
  EXPECT_TRUE(ShortenedSound({}, {}).levels().empty());
}

}  // namespace
}  // namespace millrace::engines::host
