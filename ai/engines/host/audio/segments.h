#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "schemas/media/transcript.h"

namespace millrace::engines::host {

// A recognised word: times in frames of 10 ms from the beginning of its piece, the end exclusive.
struct RecognisedWord {
  std::string word;
  std::int64_t start = 0, end = 0;
  double log_prob = 0;  // natural logarithm of its posterior probability
};

// kSpoken: lower case without punctuation, as PocketSphinx gives it; a line after a pause then begins with a
// capital letter. kWritten: with case and punctuation.
enum class WordStyle { kSpoken, kWritten };

// Builds a piece from its words; it begins `start_ms` into the recording. A segment is a subtitle line: it
// ends at a pause of half a second or, in a written text, with a sentence, and before it exceeds 80
// characters or 7 seconds; a written line that would is cut after a comma, if it has one in its second half.
// Fields of a segment: avg_logprob is the mean log_prob of its words. compression_ratio is computed with
// zlib, as in Whisper. no_speech_prob is the fraction of its time that is as quiet as the recording's pauses.
// tokens is empty and temperature 0, because the recognisers have neither. `quiet`: for each frame of the
// piece (loudness.h).
schemas::TranscriptPiece piece_of(std::span<const RecognisedWord> words, WordStyle style,
                                  const std::vector<bool>& quiet, std::int64_t start_ms);

}  // namespace millrace::engines::host
