#pragma once
#include <memory>
#include <vector>

#include "ai/engines/host/audio/piece_recogniser.h"
#include "ai/engines/host/audio/segments.h"
#include "platform/base/result.h"

struct ps_decoder_s;
namespace millrace::engines::host {

// One PocketSphinx decoder for US English, created for the first piece (half a second, 100 MB) and kept.
class SpeechRecogniser final : public PieceRecogniser {
 public:
  // The whole piece is one utterance: with more audio, the recogniser adapts better to the voice. The text
  // has no full stops, because the recogniser does not detect them.
  base::Result<schemas::TranscriptPiece> recognise(const PieceSound& sound) override;

 private:
  struct Free {
    void operator()(ps_decoder_s* decoder) const;
  };
  base::Status ready();
  std::vector<RecognisedWord> words() const;

  std::unique_ptr<ps_decoder_s, Free> decoder_;
};

}  // namespace millrace::engines::host
