#include "app/stt_engine_room.h"

#include <utility>

#include "workers/stt_runner.h"

namespace millrace::app {

base::Result<std::unique_ptr<SttEngineRoom>> SttEngineRoom::open(const Settings& settings,
                                                                 base::Metrics& metrics) {
  engines::EnginePool::Options options;
  options.children = static_cast<unsigned>(settings.slots.at(schemas::Kind::kStt));
  options.idle_after = settings.stt_idle;
  options.limits.recording_max = settings.stt_duration_max;
  options.jail.unjailed = settings.ocr_unjailed;
  auto children = EngineChildren::open(std::move(options), {"stt", "recordings cannot be opened"}, metrics);
  if (!children) return children.error();
  return std::unique_ptr<SttEngineRoom>(new SttEngineRoom(settings, *std::move(children)));
}

std::unique_ptr<workers::Runner> SttEngineRoom::make_runner(InferenceRoom& models, base::Pool& pool) {
  workers::SttRunner::Options options;
  options.range_pieces = range_pieces_;
  options.shares_min = slots_;
  return std::make_unique<workers::SttRunner>(
      transcriber_, options,
      std::make_unique<workers::FarAudio>(workers::ChatSource{models.chat(), models.loop()}, pool));
}

}  // namespace millrace::app
