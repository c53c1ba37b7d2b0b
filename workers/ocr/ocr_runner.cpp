#include "workers/ocr/ocr_runner.h"

#include <utility>

#include "workers/ocr/ocr_run.h"

namespace millrace::workers {

OcrRunner::OcrRunner(engines::OcrEngine& engine, FetchDocument fetch, Options options,
                     std::unique_ptr<ProviderOcr> remote)
    : OcrRunner(page_reader(engine), std::move(fetch), options, std::move(remote)) {}

OcrRunner::OcrRunner(std::unique_ptr<PageReader> reader, FetchDocument fetch, Options options,
                     std::unique_ptr<ProviderOcr> remote)
    : reader_(std::move(reader)), remote_(std::move(remote)), fetch_(std::move(fetch)), options_(options) {}

std::shared_ptr<Run> OcrRunner::start(const storage::Claimed& job, AttemptContext& context, Ended ended) {
  auto run = std::make_shared<OcrRun>(job, context, OcrReaders{*reader_, remote_.get()}, fetch_, options_,
                                      std::move(ended));
  run->begin();
  return run;
}

}  // namespace millrace::workers
