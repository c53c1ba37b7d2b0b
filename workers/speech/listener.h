#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "ai/engines/speech/transcriber.h"
#include "platform/base/result.h"

namespace millrace::workers {

// The interface to the local speech recogniser: the functions of engines::Transcriber that the STT runner
// uses. Nothing blocks; callbacks run on the engine's threads. If a function returns an error, nothing was
// started and there is no callback.
class PieceTranscriber {
 public:
  // Cancels the call, which then ends with kCancelled (inspect: kJobCancelled). No effect after its end.
  using Cancel = std::function<void()>;
  using RecordingPtr = std::shared_ptr<const engines::Recording>;

  virtual ~PieceTranscriber() = default;
  virtual base::Result<Cancel> inspect(RecordingPtr recording,
                                       std::function<void(base::Result<engines::RecordingInfo>)> done) = 0;
  virtual base::Result<Cancel> transcribe(RecordingPtr recording, std::vector<schemas::AudioPiece> pieces,
                                          std::function<void(engines::PieceOutcome)> on_piece,
                                          std::function<void(engines::EngineResult)> done) = 0;
};

// `engine` must outlive it.
std::unique_ptr<PieceTranscriber> listener(engines::Transcriber& engine);

}  // namespace millrace::workers
