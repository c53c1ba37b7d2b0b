#include "ai/engines/layout/scan_layer.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "ai/engines/layout/code_points.h"
#include "ai/engines/layout/letter_pairs.h"

namespace millrace::engines {
namespace {

constexpr float kSureOfWord = 75;       // confidence of the recogniser
constexpr float kSizesMost = 2.5F;      // letters of one text
constexpr float kReplaced = 0.5F;       // of the width of a recognised word
constexpr float kAlike = 0.6F;          // of the characters of the longer text
constexpr std::size_t kAlikeMost = 48;  // characters that are compared
constexpr std::size_t kContradictionsMin = 3;
constexpr std::size_t kLettersOfWord = 5, kLettersPerDigit = 3;
constexpr float kPoorPart = 0.25F;   // of the words that were read with confidence
constexpr float kLessLikely = 0.3F;  // bits of a pair

// The box on a page of this size after a quarter turn, clockwise.
Box turned_once(const Box& box, float height) { return {height - box.y1, box.x0, height - box.y0, box.x1}; }

Orientation turned_once(Orientation turn) {
  switch (turn) {
    case Orientation::kNone:
      return Orientation::kDown;
    case Orientation::kDown:
      return Orientation::kOver;
    case Orientation::kOver:
      return Orientation::kUp;
    case Orientation::kUp:
      return Orientation::kNone;
  }
  return turn;
}

std::vector<Word> words_on(const PageText& layer, int quarter_turns, const PageText& read) {
  std::vector<Word> words = layer.words;
  float width = layer.width, height = layer.height;
  for (int turn = 0; turn < quarter_turns; ++turn) {
    for (Word& word : words) {
      word.box = turned_once(word.box, height);
      word.turn = turned_once(word.turn);
    }
    std::swap(width, height);
  }
  const float across = read.width / width, down = read.height / height;
  for (Word& word : words) {
    Box& box = word.box;
    box = {box.x0 * across, box.y0 * down, box.x1 * across, box.y1 * down};
  }
  return words;
}

float common(float from, float to, float other_from, float other_to) {
  return std::max(0.0F, std::min(to, other_to) - std::max(from, other_from));
}

// Whether letters of one word are much larger than those of the other, such as a stamp's over a text.
bool unlike(const Box& one, const Box& other) {
  const float here = std::min(one.width(), one.height()), there = std::min(other.width(), other.height());
  return here > kSizesMost * there || there > kSizesMost * here;
}

// The common part of two boxes on one line, of the longer sides of the words.
float common(const Box& one, const Box& other) {
  const float across = common(one.x0, one.x1, other.x0, other.x1);
  const float down = common(one.y0, one.y1, other.y0, other.y1);
  if (unlike(one, other)) return 0;
  if (one.height() > one.width()) return 2 * across > std::min(one.width(), other.width()) ? down : 0;
  return 2 * down > std::min(one.height(), other.height()) ? across : 0;
}

float length(const Box& box) { return std::max(box.width(), box.height()); }

std::string lowered_letters(const std::string& text) {
  std::string letters;
  for (const unsigned char c : text) {
    if (letters.size() < kAlikeMost && (c >= 0x80 || std::isalnum(c) != 0))
      letters += static_cast<char>(std::tolower(c));
  }
  return letters;
}

// The length of the longest common subsequence.
std::size_t common_letters(const std::string& one, const std::string& other) {
  std::array<std::size_t, kAlikeMost + 1> counts{};
  for (const char c : one) {
    std::size_t diagonal = 0;
    for (std::size_t k = 0; k < other.size(); ++k) {
      const std::size_t above = counts[k + 1];
      counts[k + 1] = c == other[k] ? diagonal + 1 : std::max(above, counts[k]);
      diagonal = above;
    }
  }
  return counts[other.size()];
}

// Whether one text is a part of the other, or most of their characters are the same.
bool texts_alike(const std::string& one, const std::string& other) {
  if (one.find(other) != std::string::npos || other.find(one) != std::string::npos) return true;
  const auto longer = static_cast<float>(std::max(one.size(), other.size()));
  return static_cast<float>(common_letters(one, other)) >= kAlike * longer;
}

// A word of the layer beside what was read in its place.
struct Compared {
  std::string known, seen;  // letters and digits in small letters
  bool sure = false;        // what was read

  bool both() const { return !known.empty() && !seen.empty(); }
  bool differ() const { return both() && sure && known != seen; }
};

Compared compared(const Word& word, const std::vector<Word>& read) {
  std::string there;
  Compared both{.known = lowered_letters(word.text), .seen = {}, .sure = true};
  for (const Word& each : read) {
    const float part = common(each.box, word.box);
    if (each.figure || part < kReplaced * std::min(length(each.box), length(word.box))) continue;
    there += each.text;
    both.sure = both.sure && each.confidence >= kSureOfWord;
  }
  both.seen = lowered_letters(there);
  return both;
}

// Whether most of the words that stand where something was read with confidence are other words.
bool contradicts(const std::vector<Compared>& words) {
  std::size_t all = 0, other = 0;
  for (const Compared& word : words) {
    if (!word.sure || !word.both()) continue;
    ++all;
    if (!texts_alike(word.known, word.seen)) ++other;
  }
  return other >= kContradictionsMin && 2 * other > all;
}

// Whether a long word has a few digits among its letters: "RECE1VED", but neither "1st" nor "SW1A".
bool is_mixed(const std::string& letters) {
  const auto is_digit = [](unsigned char c) { return std::isdigit(c) != 0; };
  const auto digits = static_cast<std::size_t>(std::ranges::count_if(letters, is_digit));
  const std::size_t others = letters.size() - digits;
  return digits > 0 && others >= kLettersOfWord && kLettersPerDigit * digits <= others &&
         !is_digit(static_cast<unsigned char>(letters.front())) &&
         !is_digit(static_cast<unsigned char>(letters.back()));
}

// How unlikely the words are that differ, of the layer and as they were read.
struct Costs {
  PairCost known, seen;
};

// Whether the layer is the work of a poor recogniser: many of its words differ from what was read with
// confidence, and its letters are less like those of a language. Where the layer is right, what was read is
// less likely.
bool is_poor(const std::vector<Compared>& words) {
  std::size_t all = 0, other = 0;
  Costs costs;
  for (const Compared& word : words) {
    if (!word.sure || !word.both()) continue;
    ++all;
    if (!word.differ()) continue;
    ++other;
    costs.known.add(code_points(word.known));
    costs.seen.add(code_points(word.seen));
  }
  return other >= kContradictionsMin && static_cast<float>(other) >= kPoorPart * static_cast<float>(all) &&
         costs.known.mean() > costs.seen.mean() + kLessLikely;
}

// Whether what was read in the place of a word stays.
bool keeps_reading(const Compared& word, bool poor) {
  if (!word.differ()) return false;
  return poor || (texts_alike(word.known, word.seen) && is_mixed(word.known) && !is_mixed(word.seen));
}

}  // namespace

void keep_layer(const PageText& layer, int quarter_turns, PageText& read) {
  if (layer.words.empty() || !(layer.width > 0) || !(layer.height > 0)) return;
  std::vector<Word> words = words_on(layer, quarter_turns, read);
  std::vector<Compared> pairs;
  for (const Word& word : words) pairs.push_back(compared(word, read.words));
  const bool below = contradicts(pairs), poor = !below && is_poor(pairs);
  std::vector<Word> kept;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (below || !keeps_reading(pairs[i], poor)) kept.push_back(std::move(words[i]));
  }
  const auto is_replaced = [&](const Word& each) {
    float covered = 0;
    for (const Word& word : kept) covered += common(each.box, word.box);
    return !each.figure && covered > kReplaced * length(each.box);
  };
  if (!below) std::erase_if(read.words, is_replaced);
  for (Word& word : kept) {
    word.box.y0 += below ? read.height : 0;
    word.box.y1 += below ? read.height : 0;
    read.words.push_back(std::move(word));
  }
}

}  // namespace millrace::engines
