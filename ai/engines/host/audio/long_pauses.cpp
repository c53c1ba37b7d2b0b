#include "ai/engines/host/audio/long_pauses.h"

#include <algorithm>

#include "ai/engines/host/audio/loudness.h"

namespace millrace::engines::host {
namespace {

// In frames.
constexpr std::size_t kLongPause = 300;
constexpr std::size_t kPauseSide = 50;  // what is left of a pause at each of its ends
constexpr std::size_t kEdge = 30;       // what is left before the first and after the last sound
// In decibels.
constexpr int kPauseAboveQuietest = 6;
constexpr int kLoudAboveQuietest = 15;  // with less, speech and background cannot be told apart

// Lower levels are pauses.
int pause_level(std::span<const std::uint8_t> levels) {
  std::vector<std::uint8_t> sorted(levels.begin(), levels.end());
  std::sort(sorted.begin(), sorted.end());
  const int quietest = sorted[sorted.size() / 10];
  const int loudest = sorted[sorted.size() - 1 - sorted.size() / 100];
  if (loudest - quietest < kLoudAboveQuietest) return Loudness::kSilence;
  return std::max<int>(Loudness::kSilence, quietest + kPauseAboveQuietest);
}

}  // namespace

void ShortenedSound::keep(std::span<const std::int16_t> samples, std::span<const std::uint8_t> levels,
                          std::size_t first, std::size_t last) {
  constexpr std::size_t kFrame = static_cast<std::size_t>(kFrameMs) * kSamplesPerMs;
  const auto from = std::min(first * kFrame, samples.size());
  const auto part = samples.subspan(from, std::min(last * kFrame, samples.size()) - from);
  samples_.insert(samples_.end(), part.begin(), part.end());
  for (std::size_t frame = first; frame < last; ++frame) {
    levels_.push_back(levels[frame]);
    frames_.push_back(static_cast<std::int64_t>(frame));
  }
}

ShortenedSound::ShortenedSound(std::span<const std::int16_t> samples, std::span<const std::uint8_t> levels) {
  if (levels.empty()) return;
  const int below = pause_level(levels);
  std::size_t kept = 0;  // everything before it is dealt with
  for (std::size_t at = 0; at < levels.size();) {
    std::size_t end = at;
    while (end < levels.size() && levels[end] < below) ++end;
    const bool first = at == 0, last = end == levels.size();
    if (end - at > (first || last ? kEdge : kLongPause)) {
      if (!first) keep(samples, levels, kept, at + (last ? kEdge : kPauseSide));
      kept = last ? end : end - (first ? kEdge : kPauseSide);
    }
    at = end + 1;
  }
  keep(samples, levels, kept, levels.size());
}

std::int64_t ShortenedSound::frame_before(std::int64_t frame) const {
  if (frames_.empty() || frame <= 0) return 0;
  const auto at = static_cast<std::size_t>(frame);
  return at < frames_.size() ? frames_[at] : frames_.back() + 1;
}

}  // namespace millrace::engines::host
