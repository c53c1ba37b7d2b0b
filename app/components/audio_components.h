#pragma once
#include <memory>
#include <string>

#include "ai/engines/speech/speaker.h"
#include "ai/engines/speech/transcriber.h"
#include "ai/inference/media/local_speech.h"
#include "app/components/engine_children.h"
#include "app/components/inference_component.h"
#include "app/components/speech_models.h"
#include "app/components/voice_models.h"
#include "app/config/settings.h"
#include "platform/base/metrics.h"
#include "platform/base/pool.h"
#include "workers/runner.h"

namespace millrace::app {

// Local speech synthesis for the API: engine processes in a sandbox, one of them started in advance. Piper
// voices have processes of their own, so that flite never waits for them. If they cannot run here, the API
// runs without them and its errors say why. Destroy it after the requests that use it.
class SpeechComponent {
 public:
  // Blocks while it tests the sandbox.
  SpeechComponent(const Settings& settings, base::Metrics& metrics);
  SpeechComponent(const SpeechComponent&) = delete;
  SpeechComponent& operator=(const SpeechComponent&) = delete;

  // The result must not be used after this object is destroyed.
  inference::LocalSpeech local();
  const schemas::LocalVoiceModels& voice_models() const { return voices_.listed(); }

 private:
  void open_voices(const Settings& settings, base::Metrics& metrics);

  std::unique_ptr<EngineChildren> children_;
  std::unique_ptr<engines::Speaker> speaker_;
  const VoiceModels voices_;
  std::unique_ptr<EngineChildren> voice_children_;
  std::unique_ptr<engines::Speaker> voice_speaker_;  // null: no voice is configured, or its children fail
  std::string unavailable_reason_;
};

// What transcription needs in addition to a worker: the engine processes in a sandbox. Create it before the
// first runner; destroy it after the worker's last run.
class TranscriptionComponent {
 public:
  // As EngineChildren::open.
  static base::Result<std::unique_ptr<TranscriptionComponent>> open(const Settings& settings,
                                                                    base::Metrics& metrics);

  // `inference` (for providers' models) and `pool` must outlive the runner.
  std::unique_ptr<workers::Runner> make_runner(InferenceComponent& inference, base::Pool& pool);

 private:
  TranscriptionComponent(const Settings& settings, std::unique_ptr<SpeechModels> models,
                         std::unique_ptr<EngineChildren> children)
      : range_pieces_(settings.stt_range_pieces),
        slots_(settings.slots.at(schemas::Kind::kStt)),
        engine_time_(settings.stt_engine_time),
        models_(std::move(models)),
        children_(std::move(children)),
        transcriber_(children_->pool()) {}

  const int range_pieces_, slots_;
  const std::chrono::milliseconds engine_time_;
  std::unique_ptr<SpeechModels> models_;
  std::unique_ptr<EngineChildren> children_;
  engines::Transcriber transcriber_;
};

}  // namespace millrace::app
