#pragma once
#include <span>

#include "schemas/media/transcript.h"

namespace millrace::engines::host {

// A stretch in which somebody speaks; stretches of two voices can overlap. Times are seconds from the
// beginning of the recording.
struct SpeakerTurn {
  double start = 0, end = 0;
  int voice = 0;  // index in TranscriptPiece::voices
};

// Sets the voice of each segment: the one that speaks for most of its time; outside of all turns, that of the
// nearest turn. If the words of a segment have times, the segment is cut where the voice changes. The parts
// keep the measures of the whole segment. Without turns, nothing changes.
void set_voices(schemas::TranscriptPiece& piece, std::span<const SpeakerTurn> turns);

}  // namespace millrace::engines::host
