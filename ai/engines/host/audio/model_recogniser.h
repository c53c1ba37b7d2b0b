#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ai/engines/host/audio/aligner.h"
#include "ai/engines/host/audio/piece_recogniser.h"
#include "ai/engines/host/audio/segments.h"
#include "ai/engines/host/audio/speech_library.h"

namespace millrace::engines::host {

// Recognises a piece, without its long pauses (long_pauses.h), with the current model of a SpeechLibrary.
// English words get their times by forced alignment (aligner.h); other texts have times for their lines
// alone, which are estimates, and an avg_logprob of 0. A text is doubted if it repeats itself or has more
// words than anybody says (text_doubts.h), is empty though there is a second of sound, or cannot be aligned:
// then it is read again in two halves, cut at the quietest place, and these once more. What stays doubted has
// estimated times, avg_logprob kDoubtedLogProb and a no_speech_prob of at least kDoubtedNoSpeech: the values
// by which clients of Whisper recognise such a segment.
class ModelRecogniser final : public PieceRecogniser {
 public:
  static constexpr double kDoubtedLogProb = -2;
  static constexpr double kDoubtedNoSpeech = 0.7;

  // `library` and `aligner` must outlive it.
  ModelRecogniser(SpeechLibrary& library, SpeechAligner& aligner, SpeechTaskOptions options)
      : library_(library), aligner_(aligner), options_(std::move(options)) {}

  base::Result<schemas::TranscriptPiece> recognise(const PieceSound& sound) override;

 private:
  // A stretch of the piece that was read at once. Frames of 10 ms from the beginning of the piece.
  struct Part {
    std::int64_t first = 0, last = 0;
    std::vector<RecognisedWord> words;
    bool is_timed = false;  // the words' times are measured; otherwise they are estimates
    bool is_doubted = false;
    std::string language = {};  // as in Transcript, if the model detected it
  };
  base::Status read(const PieceSound& sound, std::int64_t first, std::int64_t last, int cuts_left,
                    std::vector<Part>& parts);
  base::Result<Part> part_of(const PieceSound& sound, std::int64_t first, std::int64_t last,
                             const RecognisedText& text);
  static std::string language_of(const std::vector<Part>& parts);
  static schemas::TranscriptPiece joined(const PieceSound& sound, const std::vector<Part>& parts);

  SpeechLibrary& library_;
  SpeechAligner& aligner_;
  const SpeechTaskOptions options_;
};

}  // namespace millrace::engines::host
