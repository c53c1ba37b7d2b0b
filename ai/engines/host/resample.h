#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace millrace::engines::host {

inline constexpr int kVoiceRate = 16'000;   // of flite's voices
inline constexpr int kSpeechRate = 24'000;  // of what is sent, in every encoding

// From 16 to 24 kHz, as the samples come: three points where there were two, through a low-pass that keeps
// what a voice has and takes the images away. Delays by 0.75 ms.
class Resampler {
 public:
  Resampler();
  std::vector<std::int16_t> next(std::span<const std::int16_t> samples);
  // What the filter still holds; nothing may be fed afterwards.
  std::vector<std::int16_t> rest();

 private:
  static constexpr std::size_t kUp = 3, kDown = 2;
  static constexpr std::size_t kTaps = 24;  // per phase

  std::array<std::array<float, kTaps>, kUp> phases_;
  std::vector<float> window_;  // the last kTaps samples in, then the new ones
  std::size_t phase_ = 0;      // of the next point out, past the newest sample of the window
};

}  // namespace millrace::engines::host
