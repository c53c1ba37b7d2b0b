#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ai/engines/speech/speaker.h"
#include "platform/base/result.h"

namespace millrace::engines::host {

// The text as an English voice can say it: ASCII. Typographic quotes, dashes and accented letters are
// replaced by their plain kin; what has none is left out.
std::string plain_text(std::string_view utf8);

// Sentences of a plain text, each of which is said in one go. A sentence that is very long is cut at a comma,
// else at a space; the first is kept short, so that it is heard soon. Those without a letter or digit are
// left out.
std::vector<std::string> sentences_of(std::string_view plain);

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
