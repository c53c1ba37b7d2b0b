#include "workers/speech/stt_runner.h"

#include <utility>

#include "workers/speech/stt_run.h"

namespace millrace::workers {

SttRunner::SttRunner(engines::Transcriber& engine, Options options,
                     std::unique_ptr<ProviderTranscriber> remote)
    : SttRunner(listener(engine), options, std::move(remote)) {}

SttRunner::SttRunner(std::unique_ptr<PieceTranscriber> local, Options options,
                     std::unique_ptr<ProviderTranscriber> remote)
    : local_(std::move(local)), remote_(std::move(remote)), options_(options) {}

std::shared_ptr<Run> SttRunner::start(const storage::Claimed& job, AttemptContext& context, Ended ended) {
  auto run = std::make_shared<SttRun>(job, context, SttTranscribers{*local_, remote_.get()}, options_,
                                      std::move(ended));
  run->begin();
  return run;
}

}  // namespace millrace::workers
