#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "schemas/media/ocr.h"
#include "tests/unit/workers/worker_fixture.h"
#include "workers/ocr/ocr_run.h"

namespace millrace::workers {

// A fake engine that reads pages immediately. The script sets the number of pages of each document, and the
// pages that fail or end the engine's child process. Calls run on the caller's thread, and so do replies
// unless they are held.
class ScriptedEngine final : public engines::OcrEngine {
 public:
  base::Result<engines::EngineCallHandle> inspect(
      std::shared_ptr<const engines::Document> document,
      std::function<void(base::Result<engines::DocumentInfo>)> done) override;
  base::Result<engines::EngineCallHandle> recognise(std::shared_ptr<const engines::Document> document,
                                                    std::vector<int> pages, engines::RecogniseOptions options,
                                                    std::function<void(engines::PageOutcome)> on_page,
                                                    std::function<void(engines::EngineResult)> done) override;

  std::set<int> killers;               // pages that end the child process each time
  std::map<int, base::Error> failing;  // pages that fail
  std::size_t page_bytes = 0;          // bytes of filler in each page's markdown
  std::optional<base::Error> refuses;  // an error of the document itself
  int pages = 3;
  std::chrono::milliseconds page_cpu{0};  // processor time that each page reports
  std::size_t waits_after = SIZE_MAX;  // a call with more pages waits after this many until it is cancelled
  std::atomic<bool> hangs{false};      // recognise waits until it is cancelled

  int reads_of(int page) const;
  int calls() const;

 private:
  mutable std::mutex mutex_;
  std::map<int, int> reads_;
  int calls_ = 0;
};

// A worker that runs OcrRunner with the scripted engine.
class OcrFixture {
 public:
  explicit OcrFixture(std::function<void(ScriptedEngine&)> prepare = {}, OcrRunner::Options options = {},
                      int slots = 2);

  schemas::JobId submit(schemas::OcrSpec spec);
  schemas::JobId submit_small(schemas::PageList pages = {});
  schemas::Json reply(const schemas::JobId& job);

  std::unique_ptr<ScriptedEngine> engine;
  WorkerFixture fixture;
  std::map<std::string, base::Result<std::string>> urls;  // results of fetches
  std::function<storage::Staged(storage::Staged)> wrap;   // wraps the fetched blob
  std::atomic<int> fetches{0};
};

}  // namespace millrace::workers
