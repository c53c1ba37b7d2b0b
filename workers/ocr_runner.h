#pragma once
#include <memory>

#include "ai/engines/ocr_engine.h"
#include "workers/ocr_document.h"
#include "workers/runner.h"

namespace millrace::workers {

// Jobs of kind `ocr`. A document: fetched if it is a URL (once: the bytes become the job's input), looked
// into, its pages chosen; above `range_pages` it splits into children, one per range; each page is stored as
// it is read, so that a later attempt skips it; at the end the pages are merged into the reply. A page that
// killed the engine's child in kCrashesMax attempts is recorded as failed, its neighbours are read. `engine`
// and `fetch` outlive the runs.
class OcrRunner final : public Runner {
 public:
  struct Options {
    int range_pages = 8;
  };
  OcrRunner(engines::OcrEngine& engine, FetchDocument fetch, Options options)
      : engine_(engine), fetch_(std::move(fetch)), options_(options) {}

  std::shared_ptr<Run> start(const storage::Claimed& job, AttemptContext& context, Ended ended) override;

 private:
  engines::OcrEngine& engine_;
  FetchDocument fetch_;
  Options options_;
};

}  // namespace millrace::workers
