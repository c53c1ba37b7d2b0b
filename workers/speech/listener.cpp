#include "workers/speech/listener.h"

#include <utility>

namespace millrace::workers {
namespace {

base::Result<PieceTranscriber::Cancel> cancel_by(base::Result<engines::Ticket> ticket) {
  if (!ticket) return ticket.error();
  return PieceTranscriber::Cancel([ticket = std::move(*ticket)] { ticket.cancel(); });
}

class EnginePieceTranscriber final : public PieceTranscriber {
 public:
  explicit EnginePieceTranscriber(engines::Transcriber& engine) : engine_(engine) {}

  base::Result<Cancel> inspect(RecordingPtr recording,
                               std::function<void(base::Result<engines::RecordingInfo>)> done) override {
    return cancel_by(engine_.inspect(std::move(recording), std::move(done)));
  }
  base::Result<Cancel> transcribe(RecordingPtr recording, std::vector<schemas::AudioPiece> pieces,
                                  std::function<void(engines::PieceOutcome)> on_piece,
                                  std::function<void(engines::EngineResult)> done) override {
    return cancel_by(
        engine_.transcribe(std::move(recording), std::move(pieces), std::move(on_piece), std::move(done)));
  }

 private:
  engines::Transcriber& engine_;
};

}  // namespace

std::unique_ptr<PieceTranscriber> listener(engines::Transcriber& engine) {
  return std::make_unique<EnginePieceTranscriber>(engine);
}

}  // namespace millrace::workers
