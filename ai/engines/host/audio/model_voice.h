#pragma once
#include <memory>
#include <string>

#include "ai/engines/host/audio/encoder.h"
#include "ai/engines/host/audio/speech_library.h"
#include "ai/engines/host/audio/voice.h"
#include "ai/engines/speech/speaker.h"
#include "platform/base/result.h"

namespace millrace::engines::host {

// Speaks with the current model of a SpeechLibrary, a Piper voice. The voice stays loaded until the library
// has another model. One thread. Not thread-safe.
class ModelVoice {
 public:
  explicit ModelVoice(SpeechLibrary& library);  // it must outlive this
  ~ModelVoice();
  ModelVoice(const ModelVoice&) = delete;
  ModelVoice& operator=(const ModelVoice&) = delete;

  // As the function synthesise, with `task.with_model`. Emits the audio of each sentence when it is
  // synthesised. kInvalidField: nothing in the text can be spoken, or words are not in the voice's lexicon;
  // no audio is emitted then. kInternal: the voice cannot be loaded; the message says why.
  base::Status synthesise(const SpeechTask& task, const SynthesisCallbacks& sink);

 private:
  struct Functions;
  struct Voice;
  base::Status load();
  base::Status load_functions();
  base::Status speak(const std::u32string& phonemes, const SpeechTask& task, Encoder& encoder) const;

  SpeechLibrary& library_;
  std::unique_ptr<Functions> functions_;
  std::unique_ptr<Voice> voice_;
};

}  // namespace millrace::engines::host
