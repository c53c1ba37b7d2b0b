#pragma once
#include <memory>

#include "workers/runner.h"
#include "workers/speech/listener.h"
#include "workers/speech/provider_transcriber.h"

namespace millrace::workers {

// Runs jobs of kind stt. The recording is inspected, then its pieces are recognised. A long recording is
// split into children of at most `range_pieces` pieces, which all workers can claim; the results are joined
// when the last child ends. Each piece is stored when it is done, so no later attempt repeats it. If a piece
// crashes its engine process, up to three attempts try it; the second and third send one piece per call. Then
// only this piece fails. A recording for a provider's model is one piece: it is sent whole, in one call.
class SttRunner final : public Runner {
 public:
  struct Options {
    int range_pieces = 4;
    int shares_min = 1;  // children of a recording with enough pieces: how many run here in parallel
  };
  // `engine` must outlive the runner's runs. `far`: models of providers; null: there are none.
  SttRunner(engines::Transcriber& engine, Options options, std::unique_ptr<ProviderTranscriber> remote = {});
  // The same, with any listener.
  SttRunner(std::unique_ptr<PieceTranscriber> local, Options options,
            std::unique_ptr<ProviderTranscriber> remote = {});

  std::shared_ptr<Run> start(const storage::Claimed& job, AttemptContext& context, Ended ended) override;

 private:
  std::unique_ptr<PieceTranscriber> local_;
  std::unique_ptr<ProviderTranscriber> remote_;
  Options options_;
};

}  // namespace millrace::workers
