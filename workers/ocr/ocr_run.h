#pragma once
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "schemas/media/ocr_request.h"
#include "workers/jobs/partitioned_run.h"
#include "workers/ocr/ocr_runner.h"
#include "workers/ocr/ocr_task.h"

namespace millrace::workers {

// The readers: the local engine and, if there are any, models of providers.
struct OcrReaders {
  PageReader& local;
  const ProviderOcr* remote;
};

// One attempt at an OCR job.
class OcrRun final : public PartitionedRun {
 public:
  OcrRun(storage::Claimed job, AttemptContext& context, OcrReaders readers, const FetchDocument& fetch,
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
  void choose(base::Result<schemas::PageList> pages);
  void split();
  void read();
  base::Result<Cancel> recognise(std::vector<int> pages) override;
  // The choice was made when the job was created. Whatever models exist now, the local engine serves only the
  // names of local models.
  bool is_remote() const { return task_.spec.by_provider || !schemas::is_local_ocr_model(task_.spec.model); }
  void merge_parts() override;
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
