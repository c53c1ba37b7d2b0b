#pragma once
#include <cstddef>
#include <functional>
#include <string>

#include "platform/base/result.h"
#include "schemas/media/local_voices.h"
#include "schemas/media/speech.h"

namespace millrace::inference {

// The speech engine of this process, or the reason why there is none. The engine itself is in app.
struct LocalSpeech {
  using Stop = std::function<void()>;  // ends the call soon, through `done`; no effect after `done`
  // `on_audio` receives encoded bytes as they are produced; together they are one file. `done` is called
  // once, last. Callbacks may run on any thread. If an error is returned, the call has not begun and no
  // callback follows. Null: this process has no engine.
  std::function<base::Result<Stop>(schemas::SpeechRequest request, std::function<void(std::string)> on_audio,
                                   std::function<void(base::Status)> done)>
      speak = {};
  std::string off = {};                                            // why `speak` is null, for error messages
  schemas::LocalVoiceModels voices = schemas::LocalVoiceModels();  // beside millrace/flite

  // The name of the local model that speaks a request for `name`; empty: none does.
  std::string_view model_named(std::string_view name) const {
    if (const schemas::LocalVoiceModel* model = voices.find(name)) return model->name;
    return schemas::is_local_speech_model(name) ? schemas::kSpeechModel : std::string_view();
  }
};

// Bounds of the local speech that clients have not read yet, in bytes: for one call and for the process. A
// call beyond a bound ends with kOverloaded. 4,096 characters of prose as pcm at a quarter of the speed, the
// largest usual request, are about 60 MB. The process bound holds four of these, or some 600 mp3 files of
// usual size.
inline constexpr std::size_t kSpeechRunBufferMax = std::size_t{64} << 20;
inline constexpr std::size_t kSpeechBufferMax = std::size_t{256} << 20;

}  // namespace millrace::inference
