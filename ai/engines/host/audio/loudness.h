#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ai/engines/host/audio/decode.h"
#include "schemas/media/transcription.h"

namespace millrace::engines::host {

inline constexpr std::int64_t kFrameMs = 10;

// How loud a recording is, frame by frame of 10 ms: a byte each, however long it is. Decibels above the
// smallest sample; 96 is the loudest there can be.
class Loudness {
 public:
  static constexpr std::uint8_t kMax = 96;
  // Below it is silence, whatever the recording: a thousandth of the loudest.
  static constexpr std::uint8_t kSilence = 36;

  // The next samples, in order.
  void feed(std::span<const std::int16_t> samples);
  // A frame at the end that is not whole counts as one.
  std::vector<std::uint8_t> levels() const;
  std::int64_t samples() const { return samples_; }

 private:
  static constexpr std::size_t kFrameSamples = static_cast<std::size_t>(kFrameMs) * kSamplesPerMs;
  void add(std::int16_t sample);

  std::vector<std::uint8_t> levels_;
  std::int64_t samples_ = 0;
  std::int64_t squares_ = 0;  // of the frame of the moment
  std::size_t in_frame_ = 0;
};

// Which frames are as quiet as a pause: against what is around them, so that a recording with noise in it has
// pauses, too.
std::vector<bool> quiet_frames(std::span<const std::uint8_t> levels);

// Nothing in it but silence: not even a tenth of a second.
bool is_silence(std::span<const std::uint8_t> levels);

// Cuts a recording of `ms` milliseconds into pieces of half a minute to a minute, in the middle of the
// longest pause that offers itself; where there is none, at the quietest place. `levels`: of its frames
// (loudness.h). The pieces cover all of it, and none is longer than kPieceMsMax. Empty: silence alone.
std::vector<schemas::AudioPiece> cut_at_pauses(std::span<const std::uint8_t> levels, std::int64_t ms);

}  // namespace millrace::engines::host
