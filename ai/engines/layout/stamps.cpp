#include "ai/engines/layout/stamps.h"

#include <algorithm>
#include <cmath>

#include "ai/engines/layout/rows.h"

namespace millrace::engines {
namespace {

constexpr float kStampTall = 1.8F;    // letter heights: minimum for the box of a possible stamp
constexpr float kCrossedTall = 1.5F;  // letter heights: maximum for the words that it crosses
constexpr float kReach = 0.4F;        // of its height: maximum distance to the next piece of a stamp
constexpr float kTouching = 0.08F;    // of its height: maximum distance between pieces of one word
constexpr float kCore =
    0.2F;  // of its height, at the top and the bottom, which a neighbouring line may overlap
constexpr std::size_t kCrossedMin = 3;  // words
constexpr std::size_t kPiecesMax = 256;

float gap(const Box& a, const Box& b) {
  const float beside = std::max(a.x0, b.x0) - std::min(a.x1, b.x1);
  const float below = std::max(a.y0, b.y0) - std::min(a.y1, b.y1);
  return std::max(beside, below);
}

bool close_by(const Word& a, const Word& b, float reach) {
  return gap(a.box, b.box) <= reach * std::max(a.box.height(), b.box.height());
}

bool is_across(const Word& tall, const Word& word) {
  const float core = kCore * tall.box.height();
  const float y = word.box.middle_y();
  return word.box.x0 < tall.box.x1 && word.box.x1 > tall.box.x0 && y > tall.box.y0 + core &&
         y < tall.box.y1 - core;
}

// Tall pieces that follow each other from left to right.
std::vector<Words> chains(Words pieces) {
  std::ranges::sort(pieces, {}, [](const Word* piece) { return piece->box.middle_x(); });
  std::vector<Words> all;
  for (const Word* piece : pieces) {
    const auto home = std::ranges::find_if(all, [&](const Words& chain) {
      return std::ranges::any_of(chain, [&](const Word* other) { return close_by(*other, *piece, kReach); });
    });
    (home == all.end() ? all.emplace_back() : *home).push_back(piece);
  }
  return all;
}

std::string text_along(const Words& chain) {
  std::string text;
  for (std::size_t i = 0; i < chain.size(); ++i) {
    if (i > 0 && !close_by(*chain[i - 1], *chain[i], kTouching)) text += ' ';
    text += chain[i]->text;
  }
  return text;
}

// In other orientations the height of a box is the length of the word, as in steep pieces of a stamp.
bool is_level(const Word& word) { return word.turn == Orientation::kNone || word.turn == Orientation::kOver; }

// The words of a page, classified by their height.
struct Sorted {
  Words tall, ordinary;
};

Sorted by_height(const PageText& page) {
  Words words, level;
  for (const Word& word : page.words) {
    if (word.figure || !std::isfinite(word.box.middle_x()) || !(word.box.height() > 0)) continue;
    words.push_back(&word);
    if (is_level(word)) level.push_back(&word);
  }
  const float letters = letter_height(level);
  Sorted sorted;
  for (const Word* word : words) {
    if (word->box.height() >= kStampTall * letters) sorted.tall.push_back(word);
  }
  for (const Word* word : level) {
    if (word->box.height() <= kCrossedTall * letters) sorted.ordinary.push_back(word);
  }
  return sorted;
}

bool is_stamp(const Words& chain, const Words& ordinary) {
  const auto crossed = std::ranges::count_if(ordinary, [&](const Word* word) {
    return std::ranges::any_of(chain, [&](const Word* piece) { return is_across(*piece, *word); });
  });
  return static_cast<std::size_t>(crossed) >= kCrossedMin;
}

}  // namespace

std::optional<Unstamped> without_stamps(const PageText& page) {
  if (page.recognised) return std::nullopt;
  const Sorted sorted = by_height(page);
  if (sorted.tall.empty() || sorted.tall.size() > kPiecesMax) return std::nullopt;
  Unstamped out;
  Words taken;
  for (const Words& chain : chains(sorted.tall)) {
    if (!is_stamp(chain, sorted.ordinary)) continue;
    taken.insert(taken.end(), chain.begin(), chain.end());
    std::string text = text_along(chain);
    if (std::ranges::find(out.stamps, text) == out.stamps.end()) out.stamps.push_back(std::move(text));
  }
  if (taken.empty()) return std::nullopt;
  out.page = {page.index, page.width, page.height, page.letters, page.recognised, {}};
  for (const Word& word : page.words) {
    if (std::ranges::find(taken, &word) == taken.end()) out.page.words.push_back(word);
  }
  return out;
}

}  // namespace millrace::engines
