#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ai/engines/host/audio/decode.h"
#include "schemas/media/transcription.h"

namespace millrace::engines::host {

inline constexpr std::int64_t kFrameMs = 10;

// Loudness of a recording in frames of 10 ms, one byte per frame. Decibels above the smallest sample; the
// maximum is 96.
class Loudness {
 public:
  static constexpr std::uint8_t kMax = 96;
  // Lower levels are silence in every recording: a thousandth of the maximum.
  static constexpr std::uint8_t kSilence = 36;

  // Adds the next samples, in order.
  void feed(std::span<const std::int16_t> samples);
  // Counts an incomplete last frame as a frame.
  std::vector<std::uint8_t> levels() const;
  std::int64_t samples() const { return samples_; }

 private:
  static constexpr std::size_t kFrameSamples = static_cast<std::size_t>(kFrameMs) * kSamplesPerMs;
  void add(std::int16_t sample);

  std::vector<std::uint8_t> levels_;
  std::int64_t samples_ = 0;
  std::int64_t squares_ = 0;  // of the current frame
  std::size_t in_frame_ = 0;
};

// Which frames are as quiet as a pause, relative to the frames around them, so that pauses are also found in
// a recording with background noise.
std::vector<bool> quiet_frames(std::span<const std::uint8_t> levels);

// Whether the recording contains less than a tenth of a second of sound.
bool is_silence(std::span<const std::uint8_t> levels);

// Cuts a recording of `ms` milliseconds into pieces of half of `piece_ms_max` to `piece_ms_max`: in the
// middle of the longest suitable pause, or else at the quietest place. `levels`: of its frames (loudness.h).
// The pieces cover the whole recording. Empty: only silence. REQUIRES: `piece_ms_max` is at least 4 seconds.
std::vector<schemas::AudioPiece> cut_at_pauses(std::span<const std::uint8_t> levels, std::int64_t ms,
                                               std::int64_t piece_ms_max);

// The middle of the quietest fifth of a second in frames [first, last): the best place for a cut between
// them.
std::size_t quietest_place(std::span<const std::uint8_t> levels, std::size_t first, std::size_t last);

}  // namespace millrace::engines::host
