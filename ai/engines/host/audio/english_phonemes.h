#pragma once
#include <string>

namespace millrace::engines::host {

// The phonemes of an English sentence as Piper's English voices expect them: IPA in the spelling of
// espeak-ng, with stress marks before the vowels, spaces between words, and the punctuation marks ,.;:!? By
// flite's text analysis (numbers, dates, abbreviations), its dictionary and its letter-to-sound rules for US
// English. `plain`: ASCII, as from plain_text. Not thread-safe.
std::u32string english_phonemes(const std::string& plain);

}  // namespace millrace::engines::host
