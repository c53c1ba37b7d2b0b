#pragma once
#include <cstddef>
#include <functional>
#include <string>

#include "platform/base/result.h"
#include "schemas/media/speech.h"

namespace millrace::inference {

// Who speaks in this process, and why not (app has the engine).
struct LocalSpeech {
  using Stop = std::function<void()>;  // ends the call soon, by `done`; no effect after it
  // Encoded bytes as they are made, together one file; `done` once, last, if the call has begun. From any
  // thread. An error: it has not begun, nothing is heard. Null: there is no engine here.
  std::function<base::Result<Stop>(schemas::SpeechRequest request, std::function<void(std::string)> on_audio,
                                   std::function<void(base::Status)> done)>
      speak = {};
  std::string off = {};  // for people: why `speak` is null
};

// Bytes of local speech that clients have not taken yet, of one call and of all of a process; what goes
// beyond is cut off with kOverloaded. 4,096 characters of prose at a quarter of the speed as pcm, the longest
// that is usual, are about 60 MB: four of these, or some 600 of the usual size as mp3.
inline constexpr std::size_t kSpeechRunHeldMax = std::size_t{64} << 20;
inline constexpr std::size_t kSpeechHeldMax = std::size_t{256} << 20;

}  // namespace millrace::inference
