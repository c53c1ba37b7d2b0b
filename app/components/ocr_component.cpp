#include "app/components/ocr_component.h"

#include <algorithm>
#include <chrono>
#include <sstream>
#include <utility>

#include "ai/engines/ocr/ocr_engine.h"
#include "app/components/document_download.h"
#include "app/components/engine_children.h"
#include "platform/net/fetch.h"
#include "platform/process/child.h"
#include "platform/process/spawner.h"
#include "workers/ocr/ocr_run.h"

namespace millrace::app {
namespace {

constexpr std::chrono::seconds kCheckWait{30};
constexpr std::size_t kCheckBytesMax = 4096;

// True for a language name such as "chi_sim" or "frk".
bool is_language(const std::string& name) {
  return !name.empty() && name.front() != '_' &&
         std::ranges::all_of(name, [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
}

std::string last_line(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

}  // namespace

base::Result<std::string> ocr_languages(const std::vector<std::string>& names) {
  std::string languages;
  for (const std::string& entry : names) {
    std::istringstream parts(entry);
    for (std::string name; std::getline(parts, name, '+');) {
      if (!is_language(name)) {
        return base::error(base::Code::kInvalidField,
                           "`" + name + "` is not a language code of Tesseract such as eng, deu, chi_sim");
      }
      languages += (languages.empty() ? "" : "+") + name;
    }
  }
  if (!languages.empty()) return languages;
  return base::error(base::Code::kInvalidField, "at least one language is needed, such as eng");
}

base::Status check_ocr_languages(const std::string& languages) {
  process::Spawner spawner;
  process::Command command;
  command.argv = {engine_program(), "--check-languages", languages};
  command.environment = {"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8", "OMP_THREAD_LIMIT=1"};
  const auto checked =
      process::capture(spawner, command, {.wall = kCheckWait, .output_bytes_max = kCheckBytesMax});
  if (!checked) return checked.error();
  if (checked->exit.code == 0) return {};
  return base::error(base::Code::kInternal, "ocr.languages: " + last_line(checked->err));
}

// Members are built in declaration order.
struct OcrComponent::Impl {
  Impl(const Settings& s, net::Loop& loop, base::Pool& p, storage::Store& store)
      : settings(s),
        pool(p),
        guard(s.fetch_allow_hosts),
        client(loop),
        fetch(loop, client, guard, {}),
        documents(fetch, loop, p, store.blobs()) {}

  Settings settings;
  base::Pool& pool;
  net::FetchGuard guard;
  net::HttpClient client;
  net::Fetch fetch;
  DocumentFetch documents;
  std::unique_ptr<EngineChildren> children;
  std::unique_ptr<engines::OcrEngine> engine;
};

namespace {

engines::EnginePool::Options engine_options(const Settings& settings) {
  engines::EnginePool::Options options;
  options.children = static_cast<unsigned>(settings.slots.at(schemas::Kind::kOcr) +
                                           settings.reserved_slots(schemas::Kind::kOcr));
  options.idle_after = settings.ocr_idle;
  options.languages = settings.ocr_languages;
  options.limits.page_wall = settings.ocr_page_timeout;
  options.jail.unjailed = settings.ocr_unjailed;
  options.limits.page_cpu = std::min(options.limits.page_cpu, settings.ocr_page_timeout);
  return options;
}

}  // namespace

base::Result<std::unique_ptr<OcrComponent>> OcrComponent::open(const Settings& settings, net::Loop& loop,
                                                               base::Pool& pool, storage::Store& store,
                                                               base::Metrics& metrics) {
  if (settings.ocr_languages != Settings().ocr_languages) {  // the operator has set it
    if (auto have = check_ocr_languages(settings.ocr_languages); !have) return have.error();
  }
  auto parts = std::make_unique<Impl>(settings, loop, pool, store);
  auto children = EngineChildren::open(engine_options(settings), {"ocr", "cannot open documents"}, metrics);
  if (!children) return children.error();
  parts->children = *std::move(children);
  parts->engine = std::make_unique<engines::OcrEngine>(parts->children->pool());
  return std::unique_ptr<OcrComponent>(new OcrComponent(std::move(parts)));
}

OcrComponent::OcrComponent(std::unique_ptr<Impl> parts) : impl_(std::move(parts)) {}
OcrComponent::~OcrComponent() = default;

std::unique_ptr<workers::Runner> OcrComponent::make_runner(InferenceComponent& models,
                                                           std::string secret_key) {
  workers::OcrRunner::Options options;
  options.range_pages = impl_->settings.ocr_range_pages;
  options.engine_time = impl_->settings.ocr_engine_time;
  options.reply_bytes_max = impl_->settings.ocr_reply_max_bytes;
  options.secret_key = std::move(secret_key);
  options.page_price = [&chat = models.chat()] {
    return chat.registry()->local_price(schemas::kOcrModel).page.value_or(0);
  };
  return std::make_unique<workers::OcrRunner>(
      *impl_->engine,
      [documents = &impl_->documents](const std::string& url, DocumentFetch::Done done) {
        return documents->start(url, std::move(done));
      },
      options,
      std::make_unique<workers::ProviderOcr>(workers::ChatSource{models.chat(), models.loop()}, impl_->pool));
}

}  // namespace millrace::app
