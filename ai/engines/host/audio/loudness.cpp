#include "ai/engines/host/audio/loudness.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "ai/engines/speech/recording.h"

namespace millrace::engines::host {
namespace {

constexpr std::size_t kBlock = 1'000;  // frames that share a threshold
constexpr std::size_t kAround =
    2'000;  // frames on both sides of a block, from which its threshold is computed
constexpr std::ptrdiff_t kSoundMin = 10;  // frames: shorter sounds are clicks
// Percentiles of the frames by loudness: the background level and the speech level of a stretch.
constexpr double kFloorPart = 0.10;
constexpr double kSpeechPart = 0.98;
constexpr int kContrastMin = 6;          // minimum difference in dB; below it the two cannot be separated
constexpr double kThresholdPart = 0.30;  // fraction of the way from background to speech
constexpr int kAboveFloorMin = 3;

std::uint8_t level_of(std::int64_t squares, std::size_t count) {
  const double power = static_cast<double>(squares) / static_cast<double>(count);
  if (power < 1) return 0;
  return static_cast<std::uint8_t>(std::min<double>(Loudness::kMax, std::round(10 * std::log10(power))));
}

int at_part(const std::array<std::size_t, Loudness::kMax + 1>& counts, std::size_t total, double part) {
  auto left = static_cast<std::ptrdiff_t>(part * static_cast<double>(total));
  for (std::size_t level = 0; level < counts.size(); ++level) {
    left -= static_cast<std::ptrdiff_t>(counts[level]);
    if (left < 0) return static_cast<int>(level);
  }
  return Loudness::kMax;
}

// Lower levels are quiet.
int threshold(std::span<const std::uint8_t> stretch) {
  std::array<std::size_t, Loudness::kMax + 1> counts{};
  for (const std::uint8_t level : stretch) ++counts[std::min(level, Loudness::kMax)];
  const int background = at_part(counts, stretch.size(), kFloorPart);
  const int speech = at_part(counts, stretch.size(), kSpeechPart);
  if (speech - background < kContrastMin) return Loudness::kSilence;
  const int step = static_cast<int>(kThresholdPart * (speech - background));
  return std::max<int>(Loudness::kSilence, background + std::max(kAboveFloorMin, step));
}

}  // namespace

void Loudness::add(std::int16_t sample) {
  squares_ += std::int64_t{sample} * sample;
  if (++in_frame_ < kFrameSamples) return;
  levels_.push_back(level_of(squares_, kFrameSamples));
  squares_ = 0;
  in_frame_ = 0;
}

void Loudness::feed(std::span<const std::int16_t> samples) {
  samples_ += static_cast<std::int64_t>(samples.size());
  while (in_frame_ != 0 && !samples.empty()) {
    add(samples.front());
    samples = samples.subspan(1);
  }
  for (; samples.size() >= kFrameSamples; samples = samples.subspan(kFrameSamples)) {
    std::int64_t squares = 0;
    for (const std::int16_t sample : samples.first(kFrameSamples)) squares += std::int32_t{sample} * sample;
    levels_.push_back(level_of(squares, kFrameSamples));
  }
  for (const std::int16_t sample : samples) add(sample);
}

std::vector<std::uint8_t> Loudness::levels() const {
  std::vector<std::uint8_t> all = levels_;
  if (in_frame_ > 0) all.push_back(level_of(squares_, in_frame_));
  return all;
}

std::vector<bool> quiet_frames(std::span<const std::uint8_t> levels) {
  std::vector<bool> quiet(levels.size());
  for (std::size_t block = 0; block < levels.size(); block += kBlock) {
    const std::size_t end = std::min(block + kBlock, levels.size());
    const std::size_t first = block < kAround ? 0 : block - kAround;
    const int below = threshold(levels.subspan(first, std::min(end + kAround, levels.size()) - first));
    for (std::size_t at = block; at < end; ++at) quiet[at] = levels[at] < below;
  }
  return quiet;
}

bool is_silence(std::span<const std::uint8_t> levels) {
  return std::count_if(levels.begin(), levels.end(),
                       [](std::uint8_t level) { return level >= Loudness::kSilence; }) < kSoundMin;
}

namespace {

// In frames.
constexpr std::size_t kPauseMin = 50;
constexpr std::size_t kRestMin = 500;  // minimum length of the rest after a cut
constexpr std::size_t kHush = 20;      // minimum length of a quiet place

// The middle of the longest pause within [first, last); 0: no pause.
std::size_t middle_of_pause(const std::vector<bool>& quiet, std::size_t first, std::size_t last) {
  std::size_t best = 0;
  std::size_t longest = kPauseMin - 1;
  std::size_t length = 0;
  for (std::size_t at = first; at < last; ++at) {
    length = quiet[at] ? length + 1 : 0;
    if (length <= longest) continue;
    longest = length;
    best = at + 1 - length / 2;
  }
  return best;
}

}  // namespace

std::size_t quietest_place(std::span<const std::uint8_t> levels, std::size_t first, std::size_t last) {
  std::size_t best = last;
  unsigned least = ~0U;
  unsigned sum = 0;
  for (std::size_t at = first; at < last; ++at) {
    sum += levels[at];
    if (at < first + kHush) continue;
    sum -= levels[at - kHush];
    if (sum > least) continue;  // the last one of equals, for fewer pieces
    least = sum;
    best = at + 1 - kHush / 2;
  }
  return best;
}

std::vector<schemas::AudioPiece> cut_at_pauses(std::span<const std::uint8_t> levels, std::int64_t ms,
                                               std::int64_t piece_ms_max) {
  const auto piece_max = static_cast<std::size_t>(piece_ms_max / kFrameMs);
  const std::size_t piece_min = piece_max / 2;
  const std::size_t rest_min = std::min(kRestMin, piece_min);
  std::vector<schemas::AudioPiece> pieces;
  if (is_silence(levels)) return pieces;
  const std::vector<bool> quiet = quiet_frames(levels);
  std::size_t start = 0;
  while (levels.size() - start > piece_max) {
    const std::size_t last = std::min(start + piece_max, levels.size() - rest_min);
    std::size_t cut = middle_of_pause(quiet, start + piece_min, last);
    if (cut == 0) cut = quietest_place(levels, start + piece_min, last);
    pieces.push_back({static_cast<int>(pieces.size()), static_cast<std::int64_t>(start) * kFrameMs,
                      static_cast<std::int64_t>(cut) * kFrameMs});
    start = cut;
  }
  pieces.push_back({static_cast<int>(pieces.size()), static_cast<std::int64_t>(start) * kFrameMs, ms});
  return pieces;
}

}  // namespace millrace::engines::host
