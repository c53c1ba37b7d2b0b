#include "ai/engines/host/audio/voice_text.h"

#include <algorithm>
#include <utility>

#include "ai/engines/host/audio/english_phonemes.h"
#include "ai/engines/host/audio/voice.h"

namespace millrace::engines::host {
namespace {

using base::Code;

constexpr std::size_t kMissingWordsNamed = 10;

base::Error missing_words(std::vector<std::string> missing) {
  std::sort(missing.begin(), missing.end());
  missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
  std::string named;
  for (std::size_t i = 0; i < std::min(missing.size(), kMissingWordsNamed); ++i)
    named.append(i == 0 ? "" : ", ").append(missing[i]);
  if (missing.size() > kMissingWordsNamed)
    named += " and " + std::to_string(missing.size() - kMissingWordsNamed) + " more";
  return base::error(Code::kInvalidField,
                     "the voice's lexicon does not have these words: " + named +
                         "; write them differently, or add them to its lexicon.txt",
                     "input");
}

std::u32string english_word(const std::string& word) { return english_phonemes(plain_text(word)); }
std::u32string unknown_word(const std::string&) { return {}; }

}  // namespace

base::Result<Phonemes> phonemes_of(std::string_view text, const Lexicon* lexicon, bool is_english,
                                   std::size_t length_max) {
  const std::string spoken = lexicon == nullptr ? plain_text(text) : std::string(text);
  if (spoken.size() > kSpokenCharactersMax) return spelt_out_too_long();
  Phonemes all;
  std::vector<std::string> missing;
  for (const std::string& sentence : sentences_of(spoken, length_max)) {
    std::u32string phonemes =
        lexicon == nullptr ? english_phonemes(sentence)
                           : lexicon->phonemes(sentence, is_english ? english_word : unknown_word, missing);
    if (!phonemes.empty()) all.push_back(std::move(phonemes));
  }
  if (!missing.empty()) return missing_words(std::move(missing));
  if (!all.empty()) return all;
  return base::error(Code::kInvalidField, "the input has no text that the voice can speak", "input");
}

}  // namespace millrace::engines::host
