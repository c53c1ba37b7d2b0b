#pragma once
#include <memory>

#include "app/inference_room.h"
#include "app/settings.h"
#include "platform/base/metrics.h"
#include "platform/base/pool.h"
#include "platform/net/loop.h"
#include "storage/store.h"
#include "workers/runner.h"

namespace millrace::app {

// What OCR needs beside a worker: the spawner, the jailed engine children, and documents by URL under the
// guard. Made before the first runner and taken down after the worker's last run has ended.
class OcrEngineRoom {
 public:
  // Blocks for the trial of the jail. Error: no form of it works here; the message says what to do.
  static base::Result<std::unique_ptr<OcrEngineRoom>> open(const Settings& settings, net::Loop& loop,
                                                           base::Pool& pool, storage::Store& store,
                                                           base::Metrics& metrics);
  ~OcrEngineRoom();
  OcrEngineRoom(const OcrEngineRoom&) = delete;
  OcrEngineRoom& operator=(const OcrEngineRoom&) = delete;

  // `models`: of providers, which outlive the runner.
  std::unique_ptr<workers::Runner> make_runner(InferenceRoom& models);

 private:
  struct Parts;
  explicit OcrEngineRoom(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace millrace::app
