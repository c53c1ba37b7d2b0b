#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "platform/base/result.h"
#include "schemas/media/transcript.h"

struct ps_decoder_s;
namespace millrace::engines::host {

// A word as the recogniser heard it: times in frames of 10 ms from the beginning of its piece, the end
// exclusive.
struct RecognisedWord {
  std::string word;
  std::int64_t start = 0, end = 0;
  double log_prob = 0;  // natural, of its posterior probability
};

// The piece that these words are, `start_ms` into the recording. Segments are lines of a subtitle: a line
// ends at a pause of half a second, and before it gets longer than 80 characters or 7 seconds. A line
// after a pause begins with a large letter; full stops are nowhere, as nothing tells of them.
//
// Of the numbers of a segment: avg_logprob is the mean of its words' log_prob. compression_ratio is that of
// zlib, as Whisper's. no_speech_prob is the part of its time in which the recording is as quiet as in its
// pauses. tokens is empty and temperature 0: this recogniser has neither.
// `quiet`: of the piece's frames (loudness.h).
schemas::SpokenPiece piece_of(std::span<const RecognisedWord> words, const std::vector<bool>& quiet,
                              std::int64_t start_ms);

// One PocketSphinx decoder for US English, made for the first piece (half a second, 100 MB) and kept.
class Listener {
 public:
  Listener() = default;
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // The words of a piece (16 kHz, mono), without noises. The whole piece is one utterance: the more the
  // recogniser hears at once, the better it fits itself to the voice. kPieceFailed; kInternal: no model.
  base::Result<std::vector<RecognisedWord>> hear(std::span<const std::int16_t> samples);

 private:
  struct Free {
    void operator()(ps_decoder_s* decoder) const;
  };
  base::Status ready();
  std::vector<RecognisedWord> words() const;

  std::unique_ptr<ps_decoder_s, Free> decoder_;
};

}  // namespace millrace::engines::host
