#include "ai/engines/host/resample.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace millrace::engines::host {
namespace {

constexpr double kCutoff = 7'600.0 / (3.0 * kVoiceRate);  // of the threefold rate

// A sinc under a Blackman window.
double tap(std::size_t index, std::size_t count) {
  const double middle = static_cast<double>(count - 1) / 2;
  const double x = static_cast<double>(index) - middle;
  const double turn = std::numbers::pi * static_cast<double>(index) / middle;
  const double window = 0.42 - 0.5 * std::cos(turn) + 0.08 * std::cos(2 * turn);
  const double angle = 2 * std::numbers::pi * kCutoff * x;
  return window * (x == 0 ? 2 * kCutoff : std::sin(angle) / (std::numbers::pi * x));
}

}  // namespace

Resampler::Resampler() : phases_{}, window_(kTaps - 1) {
  for (std::size_t i = 0; i < kUp * kTaps; ++i) {
    phases_[i % kUp][i / kUp] = static_cast<float>(static_cast<double>(kUp) * tap(i, kUp * kTaps));
  }
}

std::vector<std::int16_t> Resampler::next(std::span<const std::int16_t> samples) {
  for (const std::int16_t sample : samples) window_.push_back(sample);
  std::vector<std::int16_t> out;
  out.reserve(samples.size() * kUp / kDown + 1);
  // `phase_` counts points of the threefold rate from the first sample that is new.
  std::size_t newest = kTaps - 1 + phase_ / kUp;
  while (newest < window_.size()) {
    const auto& taps = phases_[phase_ % kUp];
    float sum = 0;
    for (std::size_t i = 0; i < kTaps; ++i) sum += taps[i] * window_[newest - i];
    out.push_back(static_cast<std::int16_t>(std::lround(std::clamp(sum, -32768.0F, 32767.0F))));
    phase_ += kDown;
    newest = kTaps - 1 + phase_ / kUp;
  }
  const std::size_t used = window_.size() - (kTaps - 1);
  phase_ -= used * kUp;
  window_.erase(window_.begin(), window_.begin() + static_cast<std::ptrdiff_t>(used));
  return out;
}

std::vector<std::int16_t> Resampler::rest() {
  const std::array<std::int16_t, kTaps / 2> silence{};
  return next(silence);
}

}  // namespace millrace::engines::host
