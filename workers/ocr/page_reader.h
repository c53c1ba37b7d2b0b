#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "ai/engines/ocr/document.h"
#include "ai/engines/ocr/pages.h"
#include "platform/base/result.h"

namespace millrace::engines {
class OcrEngine;
}

namespace millrace::workers {

// The interface to the local OCR engine: the functions of engines::OcrEngine that the OCR runner uses.
// Nothing blocks; callbacks run on the engine's threads. If a function returns an error, nothing was started
// and there is no callback.
class PageReader {
 public:
  // Cancels the call, which then ends with kCancelled (inspect: kJobCancelled). No effect after its end.
  using Cancel = std::function<void()>;

  virtual ~PageReader() = default;
  virtual base::Result<Cancel> inspect(std::shared_ptr<const engines::Document> document,
                                       std::function<void(base::Result<engines::DocumentInfo>)> done) = 0;
  virtual base::Result<Cancel> recognise(std::shared_ptr<const engines::Document> document,
                                         std::vector<int> pages, engines::RecogniseOptions options,
                                         std::function<void(engines::PageOutcome)> on_page,
                                         std::function<void(engines::EngineResult)> done) = 0;
};

// `engine` must outlive it.
std::unique_ptr<PageReader> page_reader(engines::OcrEngine& engine);

}  // namespace millrace::workers
