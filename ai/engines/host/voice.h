#pragma once
#include <functional>
#include <string_view>

#include "ai/engines/speech_task.h"
#include "platform/base/result.h"

namespace millrace::engines::host {

// Where the speech goes.
struct SpeechSink {
  std::function<void()> sentence;               // the work on the next sentence begins
  std::function<void(std::string_view)> audio;  // encoded bytes
};

// By flite's voices: says a text sentence by sentence, and gives the sound of a sentence while it is made,
// the first of it after a third of the time that the sentence takes. kInvalidField: no such voice, or nothing
// in the text that it can say (nothing is sent then). kInternal: an encoder failed. Not thread-safe: flite
// keeps its voices.
base::Status say(const SpeechTask& task, const SpeechSink& sink);

}  // namespace millrace::engines::host
