#include "workers/ocr_runner.h"

#include <utility>

#include "workers/ocr_run.h"

namespace millrace::workers {

OcrRunner::OcrRunner(engines::OcrEngine& engine, FetchDocument fetch, Options options)
    : OcrRunner(page_reader(engine), std::move(fetch), options) {}

OcrRunner::OcrRunner(std::unique_ptr<PageReader> reader, FetchDocument fetch, Options options)
    : reader_(std::move(reader)), fetch_(std::move(fetch)), options_(options) {}

std::shared_ptr<Run> OcrRunner::start(const storage::Claimed& job, AttemptContext& context, Ended ended) {
  auto run = std::make_shared<OcrRun>(job, context, *reader_, fetch_, options_, std::move(ended));
  run->begin();
  return run;
}

}  // namespace millrace::workers
