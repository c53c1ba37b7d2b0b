#pragma once
#include <memory>
#include <string>

#include "ai/engines/speech/speaker.h"
#include "ai/engines/speech/transcriber.h"
#include "ai/inference/media/local_speech.h"
#include "app/components/engine_children.h"
#include "app/components/inference_component.h"
#include "app/config/settings.h"
#include "platform/base/metrics.h"
#include "platform/base/pool.h"
#include "workers/runner.h"

namespace millrace::app {

// The local voices of a process with the API: jailed engine children, of which one is warm from the start.
// Where there can be none the API goes on without them, and says why. Goes after the runs that it speaks for.
class SpeechComponent {
 public:
  // Blocks for the trial of the jail.
  SpeechComponent(const Settings& settings, base::Metrics& metrics);
  SpeechComponent(const SpeechComponent&) = delete;
  SpeechComponent& operator=(const SpeechComponent&) = delete;

  // Not to be called any more once this is gone.
  inference::LocalSpeech local();

 private:
  std::unique_ptr<EngineChildren> children_;
  std::unique_ptr<engines::Speaker> speaker_;
  std::string off_;
};

// What transcription needs beside a worker: the jailed engine children. Made before the first runner and
// taken down after the worker's last run has ended.
class TranscriptionComponent {
 public:
  // As EngineChildren::open.
  static base::Result<std::unique_ptr<TranscriptionComponent>> open(const Settings& settings,
                                                                    base::Metrics& metrics);

  // `models`: of providers, which outlive the runner, as `pool` does.
  std::unique_ptr<workers::Runner> make_runner(InferenceComponent& models, base::Pool& pool);

 private:
  TranscriptionComponent(const Settings& settings, std::unique_ptr<EngineChildren> children)
      : range_pieces_(settings.stt_range_pieces),
        slots_(settings.slots.at(schemas::Kind::kStt)),
        children_(std::move(children)),
        transcriber_(children_->pool()) {}

  const int range_pieces_, slots_;
  std::unique_ptr<EngineChildren> children_;
  engines::Transcriber transcriber_;
};

}  // namespace millrace::app
