#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ai/engines/ocr/document.h"
#include "ai/engines/ocr/pages.h"
#include "schemas/media/ocr.h"
#include "workers/chat/provider_chat.h"

namespace millrace::workers {

// Reads pages of documents with models of providers: all pages in one call, with the limits, retries and
// fallbacks of chats. Thread-safe. `on_page` runs on a thread of the pool, `done` on the source's loop.
class ProviderOcr {
 public:
  using Cancel = std::function<void()>;

  // Both must outlive all calls. Documents are read and written on `pool`.
  ProviderOcr(ChatSource source, base::Pool& pool) : source_(source), pool_(pool) {}

  struct Selection {
    std::string tenant, model;
    schemas::AllowList allowed_models;  // for fallbacks
    std::shared_ptr<const engines::Document> document;
    std::vector<int> pages;
    bool image_data = false;
    std::string options = {};  // OcrSpec::options
    ModelBilling billing = {};
  };
  // Calls `on_page` for each requested page; a page that the provider did not return has kPageFailed. Then
  // calls `done`: kDone, kFailed with the provider's error or kModelNotFound, or kCancelled. The document is
  // released before `done`. After a cancel, pages may still arrive.
  Cancel recognise(Selection selection, std::function<void(schemas::OcrPage)> on_page,
                   std::function<void(engines::EngineResult)> done) const;

 private:
  const ChatSource source_;
  base::Pool& pool_;
};

}  // namespace millrace::workers
