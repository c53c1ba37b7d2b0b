#pragma once
#include <functional>
#include <string>

#include "ai/engines/pool/engine_pool.h"
#include "ai/engines/speech/loadable_model.h"
#include "schemas/media/speech.h"

namespace millrace::engines {

// A text to synthesise and its voice, format and speed.
struct SpeechTask {
  std::string text;
  std::string voice;  // a flite voice: "slt", "rms", "awb", "kal16"
  schemas::SpeechEncoding encoding = schemas::SpeechEncoding::kMp3;
  double speed = 1;
  bool with_model = false;  // with the child's current model, a Piper voice; `voice` is not used then
  int speaker = 0;          // of that model
  bool is_english = false;  // that model speaks English: flite finds the phonemes of unknown words
};

// A Piper voice to speak with.
struct VoiceChoice {
  LoadableModelPtr model;
  int speaker = 0;
  bool is_english = false;
};

// The local speech synthesis (flite, and Piper voices). Thread-safe; does not block. Callbacks run on a pump
// thread, must not throw and should be short.
class Speaker {
 public:
  // The pool must outlive it.
  explicit Speaker(EnginePool& pool) : pool_(pool) {}

  // `request.voice` must be a local voice; otherwise the result is kInvalidField without a callback.
  // `on_audio`: encoded bytes as they are produced, sentence by sentence; together they form one file in the
  // requested encoding (pcm: 24 kHz, 16 bit, mono, little-endian). `done` once, last. kOverloaded (without a
  // callback): too many calls are already queued.
  base::Result<EngineCallHandle> speak(schemas::SpeechRequest request,
                                       std::function<void(std::string)> on_audio,
                                       std::function<void(EngineResult)> done);
  // The same with a Piper voice in place of `request.voice`.
  base::Result<EngineCallHandle> speak_with(VoiceChoice voice, schemas::SpeechRequest request,
                                            std::function<void(std::string)> on_audio,
                                            std::function<void(EngineResult)> done);

 private:
  EnginePool& pool_;
};

}  // namespace millrace::engines
