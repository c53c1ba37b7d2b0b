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
constexpr std::size_t kCrossedMin = 3;  // words, beside or below letters of a stamp
constexpr float kCommonMin = 0.3F;      // letter heights: this much of a word's width is covered by a stamp
// A slanted text is split into pieces, each a step above or below the one before; letters on a slant have
// higher boxes.
constexpr float kSlantedTall = 1.05F;  // letter heights: minimum for the box of a piece
constexpr float kSlopeMin = 0.1F;      // of the distance between the middles of two pieces
constexpr float kStepMax = 0.9F;       // of the height of a piece
constexpr float kSteepest = 1.6F;
constexpr float kAhead =
    0.3F;  // of the width of the narrower piece: the next one begins and ends that far on
constexpr std::size_t kStepsOfSlant = 3;  // so many need no word below them
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
  Words tall, raised, ordinary;  // the tall words are raised, too
  float letters = 0;
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
  sorted.letters = letters;
  for (const Word* word : words) {
    if (word->box.height() >= kSlantedTall * letters) sorted.raised.push_back(word);
    if (word->box.height() >= kStampTall * letters) sorted.tall.push_back(word);
  }
  for (const Word* word : level) {
    if (word->box.height() <= kCrossedTall * letters) sorted.ordinary.push_back(word);
  }
  return sorted;
}

// How far a word of ordinary height reaches into a piece that stands across it; negative: not at all.
float common_width(const Words& chain, const Word& word) {
  float common = -1;
  for (const Word* piece : chain) {
    if (piece == &word || !is_across(*piece, word)) continue;
    common = std::max(common, std::min(piece->box.x1, word.box.x1) - std::max(piece->box.x0, word.box.x0));
  }
  return common;
}

// Large letters on a line of small ones stand beside them; those of a stamp cover them.
bool is_stamp(const Words& chain, const Sorted& sorted) {
  std::size_t crossed = 0;
  for (const Word* word : sorted.ordinary) {
    const float common = common_width(chain, *word);
    if (common >= 0) ++crossed;
    if (common >= kCommonMin * sorted.letters || crossed >= kCrossedMin) return true;
  }
  return false;
}

// Whether the pieces, from left to right, rise or fall step by step, over a word or for a while. Many tall
// pieces may be steep.
bool is_slanted_stamp(const Words& chain, const Sorted& sorted) {
  if (chain.size() < 2) return false;
  const bool many = chain.size() > kStepsOfSlant;
  const bool tall = std::ranges::all_of(
      chain, [&](const Word* piece) { return piece->box.height() >= kStampTall * sorted.letters; });
  const float step_max = many && tall ? kSteepest : kStepMax;
  const float rise = chain[1]->box.middle_y() - chain[0]->box.middle_y();
  for (std::size_t i = 1; i < chain.size(); ++i) {
    const Box &before = chain[i - 1]->box, &next = chain[i]->box;
    const float step = next.middle_y() - before.middle_y(), low = std::min(before.height(), next.height());
    const float ahead =
        std::min(next.x0 - before.x0, next.x1 - before.x1);  // lines below each other have none
    const bool steady = step * rise > 0 &&
                        std::abs(step) > kSlopeMin * (next.middle_x() - before.middle_x()) &&
                        std::abs(step) < step_max * low;
    if (!steady || ahead < kAhead * std::min(before.width(), next.width())) return false;
  }
  const auto is_covered = [&](const Word* word) { return common_width(chain, *word) > 0; };
  return many || std::ranges::any_of(sorted.ordinary, is_covered);
}

// Whether a piece is one of the words.
bool is_in(const Words& words, const Word* piece) { return std::ranges::find(words, piece) != words.end(); }

}  // namespace

std::optional<Unstamped> without_stamps(const PageText& page) {
  if (page.recognised) return std::nullopt;
  Sorted sorted = by_height(page);
  Unstamped out;
  Words taken;
  const auto take = [&](const Words& chain) {
    taken.insert(taken.end(), chain.begin(), chain.end());
    std::string text = text_along(chain);
    if (std::ranges::find(out.stamps, text) == out.stamps.end()) out.stamps.push_back(std::move(text));
  };
  if (sorted.raised.size() <= kPiecesMax) {
    for (const Words& chain : chains(sorted.raised)) {
      if (is_slanted_stamp(chain, sorted)) take(chain);
    }
  }
  std::erase_if(sorted.tall, [&](const Word* word) { return is_in(taken, word); });
  if (sorted.tall.size() <= kPiecesMax) {
    for (const Words& chain : chains(sorted.tall)) {
      if (is_stamp(chain, sorted)) take(chain);
    }
  }
  if (taken.empty()) return std::nullopt;
  out.page = {page.index,      page.width, page.height,   page.letters,
              page.recognised, {},         page.warnings, page.quarter_turns};
  for (const Word& word : page.words) {
    if (!is_in(taken, &word)) out.page.words.push_back(word);
  }
  return out;
}

}  // namespace millrace::engines
