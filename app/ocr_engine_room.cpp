#include "app/ocr_engine_room.h"

#include <algorithm>
#include <utility>

#include "ai/engines/ocr_engine.h"
#include "app/document_fetch.h"
#include "app/engine_program.h"
#include "app/store_metrics.h"
#include "platform/base/log.h"
#include "platform/net/fetch.h"
#include "platform/process/jail.h"
#include "workers/ocr_runner.h"

namespace millrace::app {

// Declaration order is the order of building: the spawner goes last, since children follow its thread.
struct OcrEngineRoom::Parts {
  Parts(const Settings& s, net::Loop& loop, base::Pool& pool, storage::Store& store)
      : settings(s),
        guard(s.fetch_allow_hosts),
        client(loop),
        fetch(loop, client, guard, {}),
        documents(fetch, loop, pool, store.blobs()) {}

  Settings settings;
  process::Spawner spawner;
  net::FetchGuard guard;
  net::HttpClient client;
  net::Fetch fetch;
  DocumentFetch documents;
  std::unique_ptr<engines::OcrEngine> engine;
};

namespace {

engines::OcrEngine::Options engine_options(const Settings& settings) {
  engines::OcrEngine::Options options;
  options.engine_path = engine_program();
  options.children = static_cast<unsigned>(settings.slots.at(schemas::Kind::kOcr));
  options.idle_after = settings.ocr_idle;
  options.limits.page_wall = settings.ocr_page_timeout;
  options.jail.unjailed = settings.ocr_unjailed;
  options.limits.page_cpu = std::min(options.limits.page_cpu, settings.ocr_page_timeout);
  return options;
}

void log_confinement(const process::JailProbe& probe) {
  switch (probe.confinement) {
    case process::Confinement::kNamespaces:
      return;
    case process::Confinement::kFileRules:
      return base::log_info("jail_by_landlock", {{"reason", probe.reason}});
    case process::Confinement::kReduced:
      return base::log_warn("jail_reduced", {{"reason", probe.reason}, {"advice", probe.advice}});
  }
}

}  // namespace

base::Result<std::unique_ptr<OcrEngineRoom>> OcrEngineRoom::open(const Settings& settings, net::Loop& loop,
                                                                 base::Pool& pool, storage::Store& store,
                                                                 base::Metrics& metrics) {
  auto parts = std::make_unique<Parts>(settings, loop, pool, store);
  const engines::OcrEngine::Options options = engine_options(settings);
  const process::JailProbe probe = process::Jail::probe(parts->spawner, options.jail);
  if (!probe.usable) {
    return base::error(base::Code::kInternal,
                       "documents cannot be opened safely here: " + probe.reason + ". " + probe.advice);
  }
  log_confinement(probe);
  auto engine = engines::OcrEngine::make(parts->spawner, options, probe.confinement);
  if (!engine) return engine.error();
  parts->engine = *std::move(engine);
  add_engine_metrics(metrics, *parts->engine);
  return std::unique_ptr<OcrEngineRoom>(new OcrEngineRoom(std::move(parts)));
}

OcrEngineRoom::OcrEngineRoom(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
OcrEngineRoom::~OcrEngineRoom() = default;

std::unique_ptr<workers::Runner> OcrEngineRoom::make_runner() {
  workers::OcrRunner::Options options;
  options.range_pages = parts_->settings.ocr_range_pages;
  options.reply_bytes_max = parts_->settings.ocr_reply_max_bytes;
  return std::make_unique<workers::OcrRunner>(
      *parts_->engine,
      [documents = &parts_->documents](const std::string& url, DocumentFetch::Done done) {
        return documents->start(url, std::move(done));
      },
      options);
}

}  // namespace millrace::app
