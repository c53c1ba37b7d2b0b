#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace millrace::engines::host {

// A piece of sound whose long pauses are shortened, and where its frames of 10 ms were. A model can write
// nothing for a short sentence if there is a second of silence on both sides.
class ShortenedSound {
 public:
  // Pauses of more than 3 s become 1 s; of those at the beginning and the end, 0.3 s is left. A pause is
  // silence, or sound that is little louder than the quietest tenth of the piece while other sound is much
  // louder. `levels`: of its frames (loudness.h).
  ShortenedSound(std::span<const std::int16_t> samples, std::span<const std::uint8_t> levels);

  std::span<const std::int16_t> samples() const { return samples_; }
  const std::vector<std::uint8_t>& levels() const { return levels_; }
  // Where the frame was in the whole sound; for the frame behind the last one, where the sound ended.
  std::int64_t frame_before(std::int64_t frame) const;

 private:
  void keep(std::span<const std::int16_t> samples, std::span<const std::uint8_t> levels, std::size_t first,
            std::size_t last);

  std::vector<std::int16_t> samples_;
  std::vector<std::uint8_t> levels_;
  std::vector<std::int64_t> frames_;  // for each kept frame, where it was
};

}  // namespace millrace::engines::host
