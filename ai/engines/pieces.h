#pragma once
#include <cstdint>
#include <vector>

#include "schemas/transcription.h"

namespace millrace::engines {

// No piece is longer: it is recognised as a whole, in memory.
inline constexpr std::int64_t kPieceMsMax = 60'000;

// What a look into a recording, inside the jail, tells: its length, and where it is cut at pauses.
struct RecordingInfo {
  std::int64_t ms = 0;
  std::vector<schemas::AudioPiece> pieces;  // in order, without gaps; empty: silence alone
};

// One piece of a recording, recognised or failed (kPieceFailed, kPieceTimeout).
struct PieceOutcome {
  int index = 0;
  schemas::SpokenPiece piece;
};

}  // namespace millrace::engines
