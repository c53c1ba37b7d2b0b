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

// The seam to the local OCR engine: what engines::OcrEngine offers, as the OCR runner needs it. Nothing
// blocks; callbacks come on the engine's threads. An error in the reply: nothing was begun, no callback.
class PageReader {
 public:
  // Ends the call with kCancelled (kJobCancelled for inspect) soon; no effect after its end.
  using Cancel = std::function<void()>;

  virtual ~PageReader() = default;
  virtual base::Result<Cancel> inspect(std::shared_ptr<const engines::Document> document,
                                       std::function<void(base::Result<engines::DocumentInfo>)> done) = 0;
  virtual base::Result<Cancel> recognise(std::shared_ptr<const engines::Document> document,
                                         std::vector<int> pages, engines::RecogniseOptions options,
                                         std::function<void(engines::PageOutcome)> on_page,
                                         std::function<void(engines::EngineEnd)> done) = 0;
};

// `engine` outlives it.
std::unique_ptr<PageReader> page_reader(engines::OcrEngine& engine);

}  // namespace millrace::workers
