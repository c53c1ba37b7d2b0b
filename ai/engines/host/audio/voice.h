#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ai/engines/speech/speaker.h"
#include "platform/base/result.h"

namespace millrace::engines::host {

// Converts text to the ASCII that an English voice can speak. Typographic quotes, dashes and accented letters
// become their ASCII equivalents; characters without an equivalent are dropped.
std::string plain_text(std::string_view utf8);

// Splits plain text into sentences, each of which is synthesised as one unit. A very long sentence is cut at
// a comma, or else at a space. The first is kept short, so that audio starts early. Sentences without a
// letter or digit are dropped; every character beyond ASCII counts as a letter.
// `length_max`: of a sentence, in bytes.
inline constexpr std::size_t kSentenceMax = 300;
std::vector<std::string> sentences_of(std::string_view plain, std::size_t length_max = kSentenceMax);

// Signs and numbers are spelt out as words; a text of nothing else would take hours to speak.
inline constexpr std::size_t kSpokenCharactersMax = 16'384;
base::Error spelt_out_too_long();  // kInvalidField

// Callbacks for the speech.
struct SynthesisCallbacks {
  std::function<void()> sentence;               // work on the next sentence begins
  std::function<void(std::string_view)> audio;  // encoded bytes
};

// Synthesises a text sentence by sentence with the flite voices. Emits the audio of a sentence while it is
// synthesised, the first of it after a third of the sentence's processing time. kInvalidField: unknown voice,
// or the text has nothing that can be spoken; no audio is emitted then. kInternal: an encoder failed. Not
// thread-safe, because flite keeps its voices.
base::Status synthesise(const SpeechTask& task, const SynthesisCallbacks& sink);

}  // namespace millrace::engines::host
