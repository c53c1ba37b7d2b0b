#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "ai/engines/speech/transcriber.h"
#include "platform/base/result.h"

namespace millrace::workers {

// The seam to the local recogniser of speech: what engines::Transcriber offers, as the STT runner needs it.
// Nothing blocks; callbacks come on the engine's threads. An error in the reply: nothing was begun, no
// callback.
class Listener {
 public:
  // Ends the call with kCancelled (kJobCancelled for inspect) soon; no effect after its end.
  using Cancel = std::function<void()>;
  using RecordingPtr = std::shared_ptr<const engines::Recording>;

  virtual ~Listener() = default;
  virtual base::Result<Cancel> inspect(RecordingPtr recording,
                                       std::function<void(base::Result<engines::RecordingInfo>)> done) = 0;
  virtual base::Result<Cancel> transcribe(RecordingPtr recording, std::vector<schemas::AudioPiece> pieces,
                                          std::function<void(engines::PieceOutcome)> on_piece,
                                          std::function<void(engines::EngineEnd)> done) = 0;
};

// `engine` outlives it.
std::unique_ptr<Listener> listener(engines::Transcriber& engine);

}  // namespace millrace::workers
