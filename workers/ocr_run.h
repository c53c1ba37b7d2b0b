#pragma once
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ai/engines/ocr_engine.h"
#include "schemas/ocr.h"
#include "workers/ocr_document.h"
#include "workers/ocr_merge.h"
#include "workers/ocr_runner.h"

namespace millrace::workers {

// One attempt at an OCR job or at one range of one. On the loop's thread but for what it hands to the pool
// and the engine, whose answers come back through the link. Ends once, whatever arrives later.
class OcrRun final : public Run, public std::enable_shared_from_this<OcrRun> {
 public:
  OcrRun(const storage::Claimed& job, AttemptContext& context, engines::OcrEngine& engine,
         const FetchDocument& fetch, OcrRunner::Options options, Runner::Ended ended);

  void begin();
  void stop(Stop why) override;

 private:
  // Runs `work` on the pool and `then` with its value on the loop, unless the run has ended.
  template <class T>
  void on_pool(std::function<T()> work, std::function<void(T)> then);
  void end(Outcome outcome);
  void fail_or_retry(const base::Error& error);
  schemas::JobId root() const { return job_.parent.value_or(job_.lease.job); }

  // In this order, each with what it leads to.
  void read_spec();
  void with_spec(base::Result<schemas::OcrSpec> spec);
  void fetch_document();
  void keep_fetched(base::Result<storage::Staged> fetched);
  void open_document();
  void with_document(base::Result<OpenedDocument> opened);
  void inspect();
  void with_info(base::Result<engines::DocumentInfo> info);
  void share_inline(schemas::PageList pages);
  void split(const schemas::PageList& pages);
  void skip_done();
  void recognise(std::vector<int> pages);
  void take_page(engines::PageOutcome page);
  void write_pages();
  void engine_ended(const engines::EngineEnd& end);
  void after_engine();
  void record_killer(int page);
  void conclude();
  void merge(std::map<int, base::Error> missing);
  void finish(base::Result<std::string> reply);

  storage::Claimed job_;
  AttemptContext* context_;  // null once ended
  LoopLink link_;
  engines::OcrEngine& engine_;
  const FetchDocument& fetch_;
  OcrRunner::Options options_;
  Runner::Ended ended_;

  schemas::OcrSpec spec_;
  OpenedDocument opened_;
  schemas::PageList pages_;  // asked for, ascending
  std::deque<storage::JobOutcomes::Part> unwritten_;
  bool writing_ = false;
  int writing_pages_on_pool_ = 0;  // being staged
  std::optional<engines::EngineEnd> engine_end_;
  engines::Ticket ticket_;
  std::function<void()> cancel_fetch_;
};

}  // namespace millrace::workers
