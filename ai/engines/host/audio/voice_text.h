#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "ai/engines/host/audio/lexicon.h"
#include "platform/base/result.h"

namespace millrace::engines::host {

// What is spoken in one go: the phonemes of a sentence, or of a part of a long one.
using Phonemes = std::vector<std::u32string>;

// Divides a text into sentences of at most `length_max` bytes and finds their phonemes: in `lexicon` (null:
// there is none), and, if `is_english`, by flite. kInvalidField: nothing in the text can be spoken; the
// lexicon lacks words, which the message names; or the text has more than kSpokenCharactersMax characters
// once it is spelt out.
base::Result<Phonemes> phonemes_of(std::string_view text, const Lexicon* lexicon, bool is_english,
                                   std::size_t length_max);

}  // namespace millrace::engines::host
