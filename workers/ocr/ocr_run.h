#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "ai/engines/ocr/ocr_engine.h"
#include "platform/base/result.h"
#include "schemas/media/ocr_request.h"
#include "storage/blobs/blobs.h"
#include "workers/jobs/partitioned_run.h"
#include "workers/ocr/ocr_task.h"
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
    std::chrono::milliseconds engine_time{120'000};          // ocr.engine_time
    std::int64_t reply_bytes_max = std::int64_t{256} << 20;  // ocr.reply_max: images may make a response huge
    std::string secret_key = {};                             // 32 bytes; stored URLs are encrypted with it
    std::function<double()> page_price = {};                 // US dollars, of the local engine; null: 0
  };
  // `engine` must outlive the runner's runs. `remote`: models of providers; null: there are none.
  OcrRunner(engines::OcrEngine& engine, FetchDocument fetch, Options options,
            std::unique_ptr<ProviderOcr> remote = {});

  std::shared_ptr<Run> start(const storage::ClaimedJob& job, AttemptContext& context, Ended ended) override;

 private:
  engines::OcrEngine& engine_;
  std::unique_ptr<ProviderOcr> remote_;
  FetchDocument fetch_;
  Options options_;
};

// The readers: the local engine and, if there are any, models of providers.
struct OcrReaders {
  engines::OcrEngine& local;
  const ProviderOcr* remote;
};

// One attempt at an OCR job.
class OcrRun final : public PartitionedRun {
 public:
  OcrRun(storage::ClaimedJob job, AttemptContext& context, OcrReaders readers, const FetchDocument& fetch,
         OcrRunner::Options options, Runner::Ended ended);
  void begin() override { open(); }

 private:
  using DocumentPtr = std::shared_ptr<const engines::Document>;

  void open();
  void opened(base::Result<OcrTask> task);
  void fetch();
  void fetched(base::Result<storage::Staged> staged);
  void attach(const storage::Staged& staged, std::function<void()> then);
  void open_fetched(const storage::Staged& staged);
  void inspect();
  void inspected(base::Result<engines::DocumentInfo> info);
  void set_pages(base::Result<schemas::PageList> pages);
  void split();
  void read();
  base::Result<Cancel> recognise(std::vector<int> pages) override;
  double part_price(int) const override {
    return is_remote() || !options_.page_price ? 0 : options_.page_price();
  }
  // Decided when the job was created (`by_provider`). A name that is no local model is a provider's, even if
  // that model no longer exists.
  bool is_remote() const { return task_.spec.by_provider || !schemas::is_local_ocr_model(task_.spec.model); }
  void merge_parts() override;
  base::Error time_error(std::chrono::milliseconds limit) const override;
  base::Error crash_error(int page) const override;
  std::string failed_part(int page, const base::Error& error) const override;
  std::string_view input_field() const override { return schemas::kDocumentField; }
  void count(bool good) const override { context().metrics().ocr_page(good); }

  const OcrReaders readers_;
  const FetchDocument& fetch_;
  const OcrRunner::Options options_;

  OcrTask task_;
  schemas::PageList pages_;  // of this attempt
};

}  // namespace millrace::workers
