#pragma once
#include <functional>
#include <memory>
#include <string>

#include "platform/base/result.h"
#include "storage/blobs/blobs.h"
#include "workers/ocr/page_reader.h"
#include "workers/ocr/provider_ocr.h"
#include "workers/runner.h"

namespace millrace::workers {

// Brings the document of a URL into the blob store. `done` once, on any thread; the returned function ends it
// without `done`, unless that has begun. An error with a retry_after may be tried again.
using FetchDocument = std::function<std::function<void()>(
    const std::string& url, std::function<void(base::Result<storage::Staged>)> done)>;

// Jobs of kind ocr: fetch if it is a URL, look into the document, then read its pages; more than
// `range_pages` of them are split into children that all workers share, and merged when the last one ends.
// Pages are stored as they are done, so that no attempt reads one twice. A page that ends its engine child is
// tried by three attempts, the later ones page by page, then fails alone. A document for a provider's model
// is looked into here, too, then sent whole, and read in one call.
class OcrRunner final : public Runner {
 public:
  struct Options {
    int range_pages = 8;
    std::int64_t reply_bytes_max = std::int64_t{256} << 20;  // ocr.reply_max: pictures may make a reply huge
  };
  // `engine` must outlive the runner's runs. `far`: models of providers; null: none.
  OcrRunner(engines::OcrEngine& engine, FetchDocument fetch, Options options,
            std::unique_ptr<ProviderOcr> far = {});
  // The same by any reader.
  OcrRunner(std::unique_ptr<PageReader> reader, FetchDocument fetch, Options options,
            std::unique_ptr<ProviderOcr> far = {});

  std::shared_ptr<Run> start(const storage::Claimed& job, AttemptContext& context, Ended ended) override;

 private:
  std::unique_ptr<PageReader> reader_;
  std::unique_ptr<ProviderOcr> remote_;
  FetchDocument fetch_;
  Options options_;
};

}  // namespace millrace::workers
