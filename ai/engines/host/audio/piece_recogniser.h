#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "platform/base/result.h"
#include "schemas/media/transcript.h"

namespace millrace::engines::host {

// The sound of one piece: 16 kHz, mono.
struct PieceSound {
  std::span<const std::int16_t> samples;
  std::vector<std::uint8_t> levels;  // of its frames (loudness.h)
  std::int64_t start_ms = 0;         // where it begins in the recording
};

// Recognises speech, piece by piece. Not thread-safe.
class PieceRecogniser {
 public:
  PieceRecogniser() = default;
  virtual ~PieceRecogniser() = default;
  PieceRecogniser(const PieceRecogniser&) = delete;
  PieceRecogniser& operator=(const PieceRecogniser&) = delete;

  // kPieceFailed: this piece cannot be recognised. kInternal: the recogniser does not work; its model is
  // missing or damaged. kOverloaded: the machine is short of memory.
  virtual base::Result<schemas::TranscriptPiece> recognise(const PieceSound& sound) = 0;
};

}  // namespace millrace::engines::host
