#include "workers/ocr_runner.h"

#include "workers/ocr_run.h"

namespace millrace::workers {

std::shared_ptr<Run> OcrRunner::start(const storage::Claimed& job, AttemptContext& context, Ended ended) {
  auto run = std::make_shared<OcrRun>(job, context, engine_, fetch_, options_, std::move(ended));
  run->begin();
  return run;
}

}  // namespace millrace::workers
