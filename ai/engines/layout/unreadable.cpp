#include "ai/engines/layout/unreadable.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "ai/engines/layout/code_points.h"
#include "ai/engines/layout/layer_words.h"
#include "ai/engines/layout/letter_pairs.h"

namespace millrace::engines {
namespace {

using Codes = std::vector<std::uint32_t>;

constexpr std::size_t kCodesMin = 20;    // of a line that is judged by itself
constexpr std::size_t kDistinctMin = 8;  // codes; DNA has four
constexpr float kSameMost = 0.3F;        // of the codes are the same
constexpr float kUnlikely = 4.2F;        // bits of a pair; nearly all text costs less
constexpr float kGain = 0.8F;            // of a move that makes text of it
// A move makes text of it that costs less than this. Few codes become likely by chance.
constexpr float kLikely = 4.8F, kLikelyMany = 4.5F, kLikelyFew = 4.3F;
constexpr std::size_t kManyCodes = 100, kFewCodes = 50;  // codes
constexpr float kOutside = 0.04F;                        // of the codes, at each end, become no visible ASCII
constexpr std::uint32_t kAccents = 0xA7;  // codes from here on do not count: they are letters with accents
constexpr float kPlainMin = 0.7F;         // of the codes are below
constexpr std::uint32_t kParts = '-';
constexpr std::uint32_t kFirst = 33, kLast = 126;
constexpr float kForeign = 0.6F;  // of the letters: no language has as many with accents
constexpr float kMixed = 0.5F;    // of the words

bool is_latin(std::uint32_t code) { return between(code | 0x20U, 'a', 'z') && code < 0x80; }

// Latin letters with accents, and the controls that stand in their places.
bool is_accented(std::uint32_t code) { return between(code, 0x80, 0x9F) || between(code, 0xC0, 0x24F); }

enum class Script { kNone, kGreek, kCyrillic, kHebrew, kArabic, kIndic, kThai, kHangul, kChinese, kYi };

Script script_of(std::uint32_t code) {
  if (between(code, 0x370, 0x3FF)) return Script::kGreek;
  if (between(code, 0x400, 0x52F)) return Script::kCyrillic;
  if (between(code, 0x590, 0x5FF)) return Script::kHebrew;
  if (between(code, 0x600, 0x77F)) return Script::kArabic;
  if (between(code, 0x900, 0xDFF)) return Script::kIndic;
  if (between(code, 0xE00, 0xEFF)) return Script::kThai;
  if (between(code, 0x3040, 0x30FF) || between(code, 0x3400, 0x9FFF)) return Script::kChinese;
  if (between(code, 0xA000, 0xA4CF)) return Script::kYi;
  return between(code, 0xAC00, 0xD7AF) ? Script::kHangul : Script::kNone;
}

// Amounts, dates and bytes in hexadecimal: they stay as they are, and say nothing about the text beside them.
bool is_number(const Codes& word) {
  constexpr std::string_view kSigns = ".,:;/-+%()$#*'\"=<>|~&";
  const auto is_digit = [](std::uint32_t code) { return between(code, '0', '9'); };
  const auto of_number = [&](std::uint32_t code) {
    return is_digit(code) || between(code, 0xA2, 0xBF) || between(code, 0x2000, 0x22FF) ||
           (code < 0x80 && kSigns.find(static_cast<char>(code)) != std::string_view::npos);
  };
  if (std::ranges::all_of(word, of_number)) return true;
  const auto of_bytes = [&](std::uint32_t code) { return is_digit(code) || between(code | 0x20U, 'a', 'f'); };
  return std::ranges::any_of(word, is_digit) && std::ranges::all_of(word, of_bytes);
}

// The words of a line or of several, without numbers.
struct Sample {
  std::vector<Codes> words;
  std::size_t codes = 0;

  void add(Codes word) {
    codes += word.size();
    words.push_back(std::move(word));
  }
};

float cost_of(const Sample& sample) {
  PairCost cost;
  for (const Codes& word : sample.words) cost.add(word);
  return cost.mean();
}

// The same with every code moved by `by`. What becomes no ASCII parts words: the glyphs of letters with
// accents have other places in a font.
float cost_of(const Sample& sample, std::int64_t by) {
  PairCost cost;
  Codes moved;
  for (const Codes& word : sample.words) {
    moved.clear();
    for (const std::uint32_t code : word) {
      const std::int64_t to = std::int64_t{code} + by;
      moved.push_back(to >= kFirst && to <= kLast ? static_cast<std::uint32_t>(to) : kParts);
    }
    cost.add(moved);
  }
  return cost.mean();
}

Codes sorted_codes(const Sample& sample) {
  Codes all;
  for (const Codes& word : sample.words) {
    std::ranges::copy_if(word, std::back_inserter(all), [](std::uint32_t code) { return code < kAccents; });
  }
  std::ranges::sort(all);
  return all;
}

// Neither DNA nor a line to fill in. The codes are sorted.
bool is_varied(const Codes& codes) {
  std::size_t distinct = 0, most = 0, same = 0;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    same = i > 0 && codes[i] == codes[i - 1] ? same + 1 : 1;
    if (same == 1) ++distinct;
    most = std::max(most, same);
  }
  return distinct >= kDistinctMin && static_cast<float>(most) < kSameMost * static_cast<float>(codes.size());
}

float likely(std::size_t codes) {
  return codes < kFewCodes ? kLikelyFew : codes < kManyCodes ? kLikelyMany : kLikely;
}

// By how much the codes have to be moved to become the letters of a language; nullopt: they are a language as
// they stand, or become none.
std::optional<std::int64_t> move_of(const Sample& sample) {
  if (sample.codes < kCodesMin) return std::nullopt;
  const float cost = cost_of(sample);
  if (cost < kUnlikely) return std::nullopt;
  const Codes all = sorted_codes(sample);
  const bool plain = static_cast<float>(all.size()) >= kPlainMin * static_cast<float>(sample.codes);
  if (!plain || !is_varied(all)) return std::nullopt;
  const auto rank = [&all](float part) {
    return std::int64_t{all[static_cast<std::size_t>(part * static_cast<float>(all.size() - 1))]};
  };
  const std::int64_t low = rank(kOutside), high = rank(1 - kOutside);
  float best = std::min(cost - kGain, likely(sample.codes));
  std::optional<std::int64_t> move;
  for (std::int64_t by = kFirst - low; by <= kLast - high; ++by) {
    const float moved = by == 0 ? cost : cost_of(sample, by);
    if (moved >= best) continue;
    best = moved;
    move = by;
  }
  return move;
}

bool becomes_text(const Sample& sample, std::int64_t by) {
  const float cost = cost_of(sample), moved = cost_of(sample, by);
  return moved > 0 && moved < kLikely && cost > moved + kGain;
}

// Bytes of another encoding, or glyph numbers of a large font.
bool is_foreign(const Sample& sample) {
  std::size_t letters = 0, accented = 0, words = 0, mixed = 0;
  for (const Codes& word : sample.words) {
    std::set<Script> scripts;
    for (const std::uint32_t code : word) {
      if (is_accented(code)) ++accented;
      if (is_accented(code) || is_latin(code)) ++letters;
      if (const Script script = script_of(code); script != Script::kNone) scripts.insert(script);
    }
    if (!scripts.empty()) ++words;
    const bool korean = scripts == std::set{Script::kHangul, Script::kChinese};
    if (scripts.size() > 1 && !korean) ++mixed;
  }
  const auto above = [](std::size_t some, std::size_t all, float part) {
    return static_cast<float>(some) > part * static_cast<float>(all);
  };
  const bool accents =
      letters >= kCodesMin && 2 * letters > sample.codes && above(accented, letters, kForeign);
  return accents || (sample.codes >= kCodesMin && words > 1 && above(mixed, words, kMixed));
}

constexpr std::ptrdiff_t kUnmappedMin = 3;  // fewer signs without letters are icons

// Not the pieces of large brackets, which formulas are set of.
bool is_unmapped_code(std::uint32_t code) { return code == 0xFFFD || between(code, 0xE000, 0xF8DF); }

// Whether the word has lost letters: within, or nearly all of them.
bool is_unmapped_word(const Codes& word) {
  const auto unmapped = std::ranges::count_if(word, is_unmapped_code);
  if (unmapped == 0 || word.size() < 3) return false;
  if (unmapped < kUnmappedMin) return std::any_of(word.begin() + 1, word.end() - 1, is_unmapped_code);
  return 3 * unmapped >= static_cast<std::ptrdiff_t>(word.size());
}

struct LayerLine {
  std::vector<std::size_t> words;     // indexes
  std::vector<std::size_t> unmapped;  // those with a character that has no meaning
  bool lost_letters = false;          // one of them is no sign
  Sample sample;
  bool is_bad = false;
};

// Short lines that become text by the same move as a line that is sure. Where there is none, all short lines
// together are judged first.
void judge_short(std::map<int, LayerLine>& lines, std::set<std::int64_t> moves) {
  Sample together;
  for (const auto& [number, line] : lines) {
    if (line.sample.codes >= kCodesMin) continue;
    for (const Codes& word : line.sample.words) together.add(word);
  }
  if (const auto move = move_of(together)) moves.insert(*move);
  if (moves.empty()) return;
  for (auto& [number, line] : lines) {
    const auto becomes = [&line = line](std::int64_t by) { return becomes_text(line.sample, by); };
    if (line.sample.codes < kCodesMin && std::ranges::any_of(moves, becomes)) line.is_bad = true;
  }
}

}  // namespace

std::vector<Word> take_unreadable(PageText& page) {
  std::map<int, LayerLine> lines;
  std::vector<bool> bad(page.words.size(), false);
  for (std::size_t i = 0; i < page.words.size(); ++i) {
    const Word& word = page.words[i];
    if (word.figure) continue;
    Codes codes = code_points(word.text);
    LayerLine& line = lines[word.line];
    // The first sign of a line may be its bullet.
    const bool bullet = line.words.empty() && codes.size() == 1;
    line.words.push_back(i);
    line.lost_letters = line.lost_letters || is_unmapped_word(codes);
    if (std::ranges::any_of(codes, is_unmapped_code)) {
      if (!bullet) line.unmapped.push_back(i);
    } else if (!is_number(codes)) {
      line.sample.add(std::move(codes));
    }
  }
  std::set<std::int64_t> moves;
  for (auto& [number, line] : lines) {
    const auto move = move_of(line.sample);
    if (move) moves.insert(*move);
    line.is_bad = move || is_foreign(line.sample);
  }
  judge_short(lines, std::move(moves));
  for (const auto& [number, line] : lines) {
    for (const std::size_t i : line.words) bad[i] = line.is_bad;
    for (const std::size_t i : line.unmapped) bad[i] = line.is_bad || line.lost_letters;
  }
  if (std::ranges::find(bad, true) == bad.end()) return {};
  std::vector<Word> taken, kept;
  for (std::size_t i = 0; i < bad.size(); ++i) (bad[i] ? taken : kept).push_back(std::move(page.words[i]));
  page.words = std::move(kept);
  return taken;
}

}  // namespace millrace::engines
