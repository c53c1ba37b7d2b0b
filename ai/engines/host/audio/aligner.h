#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ai/engines/host/audio/alignment.h"
#include "ai/engines/host/audio/listener.h"
#include "platform/base/result.h"

struct ps_decoder_s;
namespace millrace::engines::host {

inline constexpr std::size_t kAlignedTextBytesMax = 4096;  // three times the fastest speech in a piece
inline constexpr int kAlignedStatesMax = 1000;             // of the grammar of a text
inline constexpr std::size_t kAddedWordsMax = 10'000;      // unknown words that a decoder is taught

// Finds when each word of a known English text is said in a piece of sound (forced alignment). A PocketSphinx
// decoder without a language model, created for the first piece (0.1 s, 45 MB) and kept. Words that
// the dictionary does not have are pronounced by flite's letter-to-sound rules. Not thread-safe; blocks.
// Costs 0.03 CPU seconds per second of sound; a text at the limits 0.08, and 120 MB.
class SpeechAligner {
 public:
  SpeechAligner() = default;
  SpeechAligner(const SpeechAligner&) = delete;
  SpeechAligner& operator=(const SpeechAligner&) = delete;

  // `samples`: 16 kHz, mono, at most kPieceMsMax; `text`: UTF-8. The result has an entry for each word of the
  // text, which is split at white space: as written, with its punctuation and case. Its time is from its
  // first spoken word to its last; a word without a sound ("--") has no length. log_prob: that the word is
  // right, estimated from its sound. A text without a word, or with none that is spoken, gives its words at
  // 0. kPieceFailed: the text does not fit the sound (it has other words, leaves out or repeats a sentence,
  // or needs more time than there is), or exceeds a limit. kInternal: the model is not installed.
  base::Result<std::vector<RecognisedWord>> align(std::span<const std::int16_t> samples,
                                                  std::string_view text);

 private:
  struct Free {
    void operator()(ps_decoder_s* decoder) const;
  };
  base::Status ready();
  std::size_t phones_of(const std::string& word) const;
  bool knows(const std::string& word);
  WordGraph graph_of(std::span<const WrittenWord> words, std::size_t readings_max);
  std::int64_t frames_min(const WordGraph& graph) const;
  bool use(const WordGraph& graph);
  bool decode(std::span<const std::int16_t> samples);
  std::vector<AlignedSound> sounds() const;

  std::unique_ptr<ps_decoder_s, Free> decoder_;
  std::size_t added_ = 0;
};

}  // namespace millrace::engines::host
