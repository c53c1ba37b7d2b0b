#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "schemas/transcription.h"

namespace millrace::engines::host {

// Cuts a recording of `ms` milliseconds into pieces of half a minute to a minute, in the middle of the
// longest pause that offers itself; where there is none, at the quietest place. `levels`: of its frames
// (loudness.h). The pieces cover all of it, and none is longer than kPieceMsMax. Empty: silence alone.
std::vector<schemas::AudioPiece> cut_at_pauses(std::span<const std::uint8_t> levels, std::int64_t ms);

}  // namespace millrace::engines::host
