#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ai/engines/ocr/document.h"
#include "ai/engines/ocr/pages.h"
#include "schemas/media/ocr.h"
#include "workers/chat/provider_chat.h"
#include "workers/ocr/page_reader.h"

namespace millrace::workers {

// The pages of documents as models of providers read them: all in one call, with the limits, the retries and
// the fallbacks of chats. Thread-safe; pages come on a thread of the pool, `done` on the source's loop.
class ProviderOcr {
 public:
  // Both outlive all that is asked. Documents are read and written on `pool`.
  ProviderOcr(ChatSource source, base::Pool& pool) : source_(source), pool_(pool) {}

  struct Selection {
    std::string model;
    std::shared_ptr<const engines::Document> document;
    std::vector<int> pages;
    bool image_data = false;
  };
  // Each page that was asked for, those that did not come with kPageFailed; then `done`: kDone, kFailed with
  // what the provider said or kModelNotFound, or kCancelled. Past `done` the document is not held; after
  // a cancel pages may still come.
  PageReader::Cancel recognise(Selection selection, std::function<void(schemas::OcrPage)> on_page,
                               std::function<void(engines::EngineEnd)> done) const;

 private:
  const ChatSource source_;
  base::Pool& pool_;
};

}  // namespace millrace::workers
