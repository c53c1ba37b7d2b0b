#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "workers/ocr_runner.h"
#include "workers/ocr_task.h"
#include "workers/page_writer.h"

namespace millrace::workers {

// One attempt at an OCR job: steps that follow each other by callbacks on the loop. Each begins with
// `goes_on`, so that a stop ends the run at the next turn.
class OcrRun final : public Run, public std::enable_shared_from_this<OcrRun> {
 public:
  OcrRun(storage::Claimed job, AttemptContext& context, PageReader& reader, const FetchDocument& fetch,
         OcrRunner::Options options, Runner::Ended ended);
  void begin();
  void stop(Stop why) override;

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
  void page(int index, const std::string& json, bool good);
  void engine_ended(engines::EngineEnd end);
  void crashed(int page);
  void write_and(std::function<void()> then);
  void conclude();

  bool isolated() const { return job_.crashes > 0; }
  bool is_child() const { return job_.parent.has_value(); }
  bool goes_on();
  void fail(base::Error error);
  void again_later(std::function<void()> step);
  void end(Outcome outcome);
  // Runs `work` on the pool and `then` with its result on the loop; again later while the pool is full. Work
  // that throws gives kInternal.
  template <class Work, class Then>
  void on_pool(base::Pool::Lane lane, Work work, Then then);
  // A step on the loop from any thread; one that throws ends the run with kInternal, for nothing else would.
  void post(std::function<void()> step);
  void take(const std::function<void()>& step);

  const storage::Claimed job_;
  AttemptContext& context_;
  PageReader& reader_;
  const FetchDocument& fetch_;
  const OcrRunner::Options options_;
  Runner::Ended ended_;
  const LoopLink link_;
  std::shared_ptr<PageWriter> writer_;

  OcrTask task_;
  schemas::PageList pages_;  // of this attempt's share
  std::set<int> left_;       // of them, not read yet
  PageReader::Cancel cancel_;
  bool cancel_is_silent_ = false;  // what is under way will not call back once cancelled
  std::optional<Stop> stop_;
  bool over_ = false;
  net::Loop::Timer timer_;
};

}  // namespace millrace::workers
