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

// As the engine takes them, "eng+deu", from a list whose entries may be written like that, too. Error: one is
// no name of a language, or there is none.
base::Result<std::string> ocr_languages(const std::vector<std::string>& names);

// Whether the engine of this installation has its data for them. Blocks: 0.1 s for each. Error: what is
// missing, and how to install it.
base::Status have_ocr_languages(const std::string& languages);

// What OCR needs beside a worker: the spawner, the jailed engine children, and documents by URL under the
// guard. Made before the first runner and taken down after the worker's last run has ended.
class OcrComponent {
 public:
  // Blocks for the trial of the jail. Error: no form of it works here; the message says what to do.
  static base::Result<std::unique_ptr<OcrComponent>> open(const Settings& settings, net::Loop& loop,
                                                          base::Pool& pool, storage::Store& store,
                                                          base::Metrics& metrics);
  ~OcrComponent();
  OcrComponent(const OcrComponent&) = delete;
  OcrComponent& operator=(const OcrComponent&) = delete;

  // `models`: of providers, which outlive the runner.
  std::unique_ptr<workers::Runner> make_runner(InferenceComponent& models);

 private:
  struct Parts;
  explicit OcrComponent(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace millrace::app
