#pragma once
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "platform/base/result.h"

namespace millrace::engines::host {

// The pronunciations of a voice, from its lexicon file. A line is `words || phonemes`, with one or more
// words, or `word phoneme phoneme …`; a line that begins with # is a comment. Immutable; thread-safe.
class Lexicon {
 public:
  // kInternal: the file cannot be read, or has no entry.
  static base::Result<Lexicon> read(const std::string& path);

  // The phonemes of a word that the lexicon lacks; empty: unknown.
  using Otherwise = std::function<std::u32string(const std::string& word)>;

  // The phonemes of a sentence, with spaces between words and the punctuation marks ,.;:!? The longest entry
  // of several words is used; case does not count. Words that neither the lexicon nor `otherwise` knows are
  // left out and added to `missing`.
  std::u32string phonemes(std::string_view sentence, const Otherwise& otherwise,
                          std::vector<std::string>& missing) const;

 private:
  std::size_t longest_match(const std::vector<std::string>& tokens, std::size_t at,
                            const std::u32string*& found) const;

  std::map<std::string, std::u32string, std::less<>> entries_;  // by words in lower case
  std::size_t words_max_ = 1;                                   // of one entry
};

}  // namespace millrace::engines::host
