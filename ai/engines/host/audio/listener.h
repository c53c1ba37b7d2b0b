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

// A recognised word: times in frames of 10 ms from the beginning of its piece, the end exclusive.
struct RecognisedWord {
  std::string word;
  std::int64_t start = 0, end = 0;
  double log_prob = 0;  // natural logarithm of its posterior probability
};

// Builds a piece from its words; it begins `start_ms` into the recording. A segment is a subtitle line: it
// ends at a pause of half a second, and before it exceeds 80 characters or 7 seconds. A line after a pause
// begins with a capital letter. There are no full stops, because the recogniser does not detect them.
// Fields of a segment: avg_logprob is the mean log_prob of its words. compression_ratio is computed with
// zlib, as in Whisper. no_speech_prob is the fraction of its time that is as quiet as the recording's pauses.
// tokens is empty and temperature 0, because this recogniser has neither. `quiet`: for each frame of the
// piece (loudness.h).
schemas::TranscriptPiece piece_of(std::span<const RecognisedWord> words, const std::vector<bool>& quiet,
                                  std::int64_t start_ms);

// One PocketSphinx decoder for US English, created for the first piece (half a second, 100 MB) and kept.
class SpeechRecogniser {
 public:
  SpeechRecogniser() = default;
  SpeechRecogniser(const SpeechRecogniser&) = delete;
  SpeechRecogniser& operator=(const SpeechRecogniser&) = delete;

  // The words of a piece (16 kHz, mono), without noises. The whole piece is one utterance: with more audio,
  // the recogniser adapts better to the voice. kPieceFailed; kInternal: the model is not installed.
  base::Result<std::vector<RecognisedWord>> recognise(std::span<const std::int16_t> samples);

 private:
  struct Free {
    void operator()(ps_decoder_s* decoder) const;
  };
  base::Status ready();
  std::vector<RecognisedWord> words() const;

  std::unique_ptr<ps_decoder_s, Free> decoder_;
};

}  // namespace millrace::engines::host
