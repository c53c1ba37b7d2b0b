#pragma once
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "schemas/media/ocr.h"
#include "tests/unit/workers/worker_fixture.h"
#include "workers/ocr/ocr_runner.h"

namespace millrace::workers {

// An engine that reads pages at once: the script says which document has how many pages, and which of them
// fail or end their child. Calls run on the caller's thread; replies come from there, too, unless held.
class ScriptedEngine final : public PageReader {
 public:
  base::Result<Cancel> inspect(std::shared_ptr<const engines::Document> document,
                               std::function<void(base::Result<engines::DocumentInfo>)> done) override;
  base::Result<Cancel> recognise(std::shared_ptr<const engines::Document> document, std::vector<int> pages,
                                 engines::RecogniseOptions options,
                                 std::function<void(engines::PageOutcome)> on_page,
                                 std::function<void(engines::EngineEnd)> done) override;

  std::set<int> killers;               // pages that end their child, each time
  std::map<int, base::Error> failing;  // pages with an error
  std::size_t page_bytes = 0;          // of filler in each page's markdown
  std::optional<base::Error> refuses;  // the document's own fault
  int pages = 3;
  std::atomic<bool> hangs{false};  // recognise waits for its cancel

  int reads_of(int page) const;
  int calls() const;

 private:
  mutable std::mutex mutex_;
  std::map<int, int> reads_;
  int calls_ = 0;
};

// A house whose worker runs OcrRunner over the scripted engine.
class OcrFixture {
 public:
  explicit OcrFixture(std::function<void(ScriptedEngine&)> prepare = {}, OcrRunner::Options options = {},
                      int slots = 2);

  schemas::JobId submit(schemas::OcrSpec spec);
  schemas::JobId submit_small(schemas::PageList pages = {});
  nlohmann::json reply(const schemas::JobId& job);

  WorkerFixture fixture;
  ScriptedEngine* engine = nullptr;
  std::map<std::string, base::Result<std::string>> urls;  // what fetching brings
  std::function<storage::Staged(storage::Staged)> wrap;   // around what was fetched
  std::atomic<int> fetches{0};
};

}  // namespace millrace::workers
