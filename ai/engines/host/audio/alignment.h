#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ai/engines/host/audio/listener.h"
#include "ai/engines/host/audio/spoken_words.h"

namespace millrace::engines::host {

// A spoken word or a silence that was found in the sound. Times as in RecognisedWord.
struct AlignedSound {
  std::string word;  // spelled as in the dictionary; empty: silence
  std::int64_t start = 0, end = 0;
  // Logarithm of the likelihood of its frames, relative to the best state of the acoustic model in each.
  double score = 0;
};

// The grammar of a text: a chain of states with parallel paths for the readings of a part of a word. State 0
// is the first. The links are in the order of their states.
struct WordGraph {
  struct Link {
    int from = 0, to = 0;
    std::string word;
    std::size_t written = 0;  // index of the written word
  };
  std::vector<Link> links;
  int states = 1;
  int last = 0;  // the final state

  // Appends a part of a written word in these readings; does nothing without a reading.
  void add(std::span<const SpokenWords> readings, std::size_t written);
};

// The written words with the times of the sounds, which are a path through the graph. A word without a sound
// has no length; it lies at the end of the word before. Empty: the sounds are no such path.
std::vector<RecognisedWord> timed_words(const WordGraph& graph, std::span<const WrittenWord> written,
                                        std::span<const AlignedSound> sounds);

// Whether the text is what is said in the sound, up to a few words in ten that may be wrong.
bool is_plausible(std::span<const AlignedSound> sounds);

}  // namespace millrace::engines::host
