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

// Downloads the document of a URL into the blob store. `done` is called once, on any thread. The returned
// function cancels the download; `done` is not called then, unless it has already begun. An error with a
// retry_after may be retried.
using FetchDocument = std::function<std::function<void()>(
    const std::string& url, std::function<void(base::Result<storage::Staged>)> done)>;

// Runs jobs of kind ocr. A URL is downloaded; then the document is inspected and its pages are read. More
// than `range_pages` pages are split into children, which all workers can claim; the results are merged when
// the last child ends. Each page is stored when it is done, so no later attempt repeats it. If a page crashes
// its engine process, up to three attempts try it; the second and third send one page per call. Then only
// this page fails. A document for a provider's model is inspected here too, then sent whole and read in one
// call.
class OcrRunner final : public Runner {
 public:
  struct Options {
    int range_pages = 8;
    std::int64_t reply_bytes_max = std::int64_t{256} << 20;  // ocr.reply_max: images may make a response huge
  };
  // `engine` must outlive the runner's runs. `far`: models of providers; null: there are none.
  OcrRunner(engines::OcrEngine& engine, FetchDocument fetch, Options options,
            std::unique_ptr<ProviderOcr> remote = {});
  // The same, with any reader.
  OcrRunner(std::unique_ptr<PageReader> reader, FetchDocument fetch, Options options,
            std::unique_ptr<ProviderOcr> remote = {});

  std::shared_ptr<Run> start(const storage::Claimed& job, AttemptContext& context, Ended ended) override;

 private:
  std::unique_ptr<PageReader> reader_;
  std::unique_ptr<ProviderOcr> remote_;
  FetchDocument fetch_;
  Options options_;
};

}  // namespace millrace::workers
