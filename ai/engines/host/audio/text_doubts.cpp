#include "ai/engines/host/audio/text_doubts.h"

#include <algorithm>

namespace millrace::engines::host {
namespace {

constexpr std::size_t kWordsNeverDoubted = 6;
constexpr std::size_t kRepeatedWordsMax = 8;  // length of the sequence that is repeated
constexpr std::size_t kCopiesMin = 3;
constexpr std::size_t kRepetitionMin = 8;  // words, all copies together
constexpr double kFramesPerSecond = 100;

// Letters and digits alone, in lower case; other bytes than ASCII stay.
std::string bare(const std::string& word) {
  std::string out;
  for (const char c : word) {
    if (c >= 'A' && c <= 'Z') {
      out += static_cast<char>(c | 0x20);
    } else if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || static_cast<unsigned char>(c) >= 0x80) {
      out += c;
    }
  }
  return out;
}

// How many words from `first` on are equal to those `period` words further on.
std::size_t run_of_period(std::span<const std::string> words, std::size_t first, std::size_t period) {
  std::size_t count = 0;
  while (first + count + period < words.size() && words[first + count] == words[first + count + period])
    ++count;
  return count;
}

}  // namespace

bool is_too_fast(std::size_t words, std::int64_t frames) {
  return words > kWordsNeverDoubted &&
         static_cast<double>(words) > kWordsPerSecondMax * static_cast<double>(frames) / kFramesPerSecond;
}

bool repeats_itself(std::span<const std::string> written) {
  std::vector<std::string> words;
  words.reserve(written.size());
  for (const std::string& word : written) words.push_back(bare(word));
  for (std::size_t period = 1; period <= kRepeatedWordsMax; ++period) {
    const std::size_t needed = std::max(kCopiesMin * period, kRepetitionMin);
    for (std::size_t first = 0; first + needed <= words.size(); ++first) {
      if (run_of_period(words, first, period) + period >= needed) return true;
    }
  }
  return false;
}

}  // namespace millrace::engines::host
