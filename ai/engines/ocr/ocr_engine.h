#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ai/engines/ocr/document.h"
#include "ai/engines/ocr/pages.h"
#include "ai/engines/pool/engine_pool.h"
#include "platform/base/result.h"

namespace millrace::engines {

// The local OCR engine, as used by the workers. Thread-safe.
class OcrEngine {
 public:
  // The pool must outlive it.
  explicit OcrEngine(EnginePool& pool) : pool_(&pool) {}
  virtual ~OcrEngine() = default;
  OcrEngine(const OcrEngine&) = delete;
  OcrEngine& operator=(const OcrEngine&) = delete;

  // No call blocks. Callbacks run on a pump thread, must not throw and should be short. kOverloaded
  // (without a callback): too many calls are already queued.

  // Returns the page count, or an error of the document (kDocumentDamaged, kDocumentEncrypted, kDocumentBomb,
  // kDocumentPageCount, kDocumentTooManyPages, kImageTooLarge). A child that dies on it is replaced twice,
  // after a pause; after the third death the error is kDocumentDamaged. A cancelled call ends with
  // kJobCancelled.
  virtual base::Result<EngineCallHandle> inspect(std::shared_ptr<const Document> document,
                                                 std::function<void(base::Result<DocumentInfo>)> done);

  // Recognises `pages` (indexes from 0; each at most once). `on_page` is called once per page, in no fixed
  // order; `done` once, last. A page that takes too long or cannot be read is reported as a PageOutcome with
  // an error; the other pages are not affected.
  virtual base::Result<EngineCallHandle> recognise(std::shared_ptr<const Document> document,
                                                   std::vector<int> pages, RecogniseOptions options,
                                                   std::function<void(PageOutcome)> on_page,
                                                   std::function<void(EngineResult)> done);

  // Renders a page (from 0) as a small JPEG whose long side has at most `side` pixels. kInvalidField: the
  // document has no such page. kPageTimeout, kPageFailed: the page cannot be rendered. A cancelled call ends
  // with kJobCancelled.
  base::Result<EngineCallHandle> draw(std::shared_ptr<const Document> document, int page, int side,
                                      std::function<void(base::Result<std::string>)> done);

 protected:
  OcrEngine() = default;  // for tests, which override the virtual functions

 private:
  EnginePool* pool_ = nullptr;
};

}  // namespace millrace::engines
