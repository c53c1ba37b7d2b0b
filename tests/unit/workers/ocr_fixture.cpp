#include "tests/unit/workers/ocr_fixture.h"

#include "storage/blobs/blobs.h"

namespace millrace::workers {

using base::Code;
using engines::EngineCallHandle;
using engines::EngineResult;

base::Result<engines::EngineCallHandle> ScriptedEngine::inspect(
    std::shared_ptr<const engines::Document> document,
    std::function<void(base::Result<engines::DocumentInfo>)> done) {
  if (refuses) {
    done(*refuses);
  } else {
    done(engines::DocumentInfo{document->media(), pages});
  }
  return EngineCallHandle([] {});
}

base::Result<engines::EngineCallHandle> ScriptedEngine::recognise(
    std::shared_ptr<const engines::Document>, std::vector<int> wanted, engines::RecogniseOptions,
    std::function<void(engines::PageOutcome)> on_page, std::function<void(EngineResult)> done) {
  {
    const std::lock_guard lock(mutex_);
    ++calls_;
  }
  const EngineCallHandle until_cancelled([done] {
    done({EngineResult::Kind::kCancelled, -1, std::nullopt});
  });
  if (hangs) return until_cancelled;
  std::size_t read = 0;
  for (const int page : wanted) {
    if (read++ == waits_after) return until_cancelled;
    {
      const std::lock_guard lock(mutex_);
      ++reads_[page];
    }
    if (killers.contains(page)) {
      done({EngineResult::Kind::kCrashed, page, std::nullopt});
      return EngineCallHandle([] {});
    }
    engines::PageOutcome outcome;
    outcome.index = page;
    outcome.cpu = page_cpu;
    if (const auto failed = failing.find(page); failed != failing.end()) {
      outcome.error = failed->second;
    } else {
      outcome.markdown = "page " + std::to_string(page) + std::string(page_bytes, 'x');
      outcome.dimensions = {200, 2339, 1654};
    }
    on_page(std::move(outcome));
  }
  done({EngineResult::Kind::kDone, -1, std::nullopt});
  return EngineCallHandle([] {});
}

int ScriptedEngine::reads_of(int page) const {
  const std::lock_guard lock(mutex_);
  const auto found = reads_.find(page);
  return found == reads_.end() ? 0 : found->second;
}

int ScriptedEngine::calls() const {
  const std::lock_guard lock(mutex_);
  return calls_;
}

OcrFixture::OcrFixture(std::function<void(ScriptedEngine&)> prepare, OcrRunner::Options runner_options,
                       int slots)
    : engine(std::make_unique<ScriptedEngine>()),
      fixture(WorkerFixture::Options{.slots = slots, .with_worker = false, .with_maintenance = true}) {
  if (prepare) prepare(*engine);
  FetchDocument fetch = [this](const std::string& url,
                               std::function<void(base::Result<storage::Staged>)> done) {
    ++fetches;
    const auto found = urls.find(url);
    if (found == urls.end()) {
      done(base::error(Code::kFetchFailed, "no such document"));
    } else if (!found->second) {
      done(found->second.error());
    } else {
      auto staged = stage(fixture.store->blobs(), *found->second);
      if (staged && wrap) staged = wrap(std::move(*staged));
      done(std::move(staged));
    }
    return std::function<void()>([] {});
  };
  fixture.worker = fixture.bare_worker();
  fixture.worker->add(schemas::Kind::kOcr, {slots},
                      std::make_unique<OcrRunner>(*engine, std::move(fetch), runner_options));
  fixture.worker->start();
}

schemas::JobId OcrFixture::submit(schemas::OcrSpec spec) {
  if (spec.model.empty()) spec.model = "vendor-ocr-latest";
  return fixture.submit("default", schemas::pack(spec));
}

schemas::JobId OcrFixture::submit_small(schemas::PageList pages) {
  schemas::OcrSpec spec;
  spec.inline_document = "%PDF-1.4 a small one";
  spec.pages = std::move(pages);
  return submit(std::move(spec));
}

schemas::Json OcrFixture::reply(const schemas::JobId& job) {
  const auto text = fixture.result_text(job);
  return text ? schemas::Json::parse(*text) : schemas::Json();
}

}  // namespace millrace::workers
