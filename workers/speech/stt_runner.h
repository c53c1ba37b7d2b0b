#pragma once
#include <memory>

#include "workers/runner.h"
#include "workers/speech/listener.h"
#include "workers/speech/provider_transcriber.h"

namespace millrace::workers {

// Jobs of kind stt: look into the recording, then recognise its pieces; in shares of at most `range_pieces`,
// which are children that all workers take, joined when the last one ends. Pieces are stored as they
// are done, so that no attempt hears one twice. A piece that ends its engine child is tried by three
// attempts, the later ones piece by piece, then fails alone. A recording for a provider's model is sent
// whole, in one call, and is one piece.
class SttRunner final : public Runner {
 public:
  struct Options {
    int range_pieces = 4;
    int shares_min = 1;  // of a recording with as many pieces: what can be heard at once here
  };
  // `engine` must outlive the runner's runs. `far`: models of providers; null: none.
  SttRunner(engines::Transcriber& engine, Options options, std::unique_ptr<ProviderTranscriber> far = {});
  // The same by any listener.
  SttRunner(std::unique_ptr<Listener> local, Options options, std::unique_ptr<ProviderTranscriber> far = {});

  std::shared_ptr<Run> start(const storage::Claimed& job, AttemptContext& context, Ended ended) override;

 private:
  std::unique_ptr<Listener> local_;
  std::unique_ptr<ProviderTranscriber> remote_;
  Options options_;
};

}  // namespace millrace::workers
