#pragma once
#include <memory>
#include <string>
#include <vector>

#include "app/components/inference_component.h"
#include "app/config/settings.h"
#include "platform/base/metrics.h"
#include "platform/base/pool.h"
#include "platform/base/result.h"
#include "platform/net/loop.h"
#include "storage/store.h"
#include "workers/runner.h"

// The languages of scanned text (ocr.languages).
namespace millrace::app {

// Joins names in the engine's form, "eng+deu"; an entry of the list may already have that form. Error: an
// entry is not a language name, or the list is empty.
base::Result<std::string> ocr_languages(const std::vector<std::string>& names);

// Checks that the installed engine has data for these languages. Blocks: 0.1 s per language. Error: what is
// missing, and how to install it.
base::Status check_ocr_languages(const std::string& languages);

// What OCR needs in addition to a worker: the spawner, the engine processes in a sandbox, and downloads of
// documents with checked addresses. Create it before the first runner; destroy it after the worker's last
// run.
class OcrComponent {
 public:
  // Blocks while it tests the sandbox. Error: no form of the sandbox works here; the message says what to do.
  static base::Result<std::unique_ptr<OcrComponent>> open(const Settings& settings, net::Loop& loop,
                                                          base::Pool& pool, storage::Store& store,
                                                          base::Metrics& metrics);
  ~OcrComponent();
  OcrComponent(const OcrComponent&) = delete;
  OcrComponent& operator=(const OcrComponent&) = delete;

  // `models` (for providers' models) must outlive the runner.
  std::unique_ptr<workers::Runner> make_runner(InferenceComponent& models, std::string secret_key);

 private:
  struct Impl;
  explicit OcrComponent(std::unique_ptr<Impl> parts);
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace::app
