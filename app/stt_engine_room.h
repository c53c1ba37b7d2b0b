#pragma once
#include <memory>

#include "ai/engines/transcriber.h"
#include "app/engine_children.h"
#include "app/inference_room.h"
#include "app/settings.h"
#include "platform/base/metrics.h"
#include "platform/base/pool.h"
#include "workers/runner.h"

namespace millrace::app {

// What transcription needs beside a worker: the jailed engine children. Made before the first runner and
// taken down after the worker's last run has ended.
class SttEngineRoom {
 public:
  // As EngineChildren::open.
  static base::Result<std::unique_ptr<SttEngineRoom>> open(const Settings& settings, base::Metrics& metrics);

  // `models`: of providers, which outlive the runner, as `pool` does.
  std::unique_ptr<workers::Runner> make_runner(InferenceRoom& models, base::Pool& pool);

 private:
  SttEngineRoom(const Settings& settings, std::unique_ptr<EngineChildren> children)
      : range_pieces_(settings.stt_range_pieces),
        slots_(settings.slots.at(schemas::Kind::kStt)),
        children_(std::move(children)),
        transcriber_(children_->pool()) {}

  const int range_pieces_, slots_;
  std::unique_ptr<EngineChildren> children_;
  engines::Transcriber transcriber_;
};

}  // namespace millrace::app
