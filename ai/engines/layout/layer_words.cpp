#include "ai/engines/layout/layer_words.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ai/engines/layout/markers.h"

namespace millrace::engines {
namespace {

constexpr float kPieceGap = 0.06F;  // of the lower height; a blank is several times as wide
constexpr float kBeside = 0.5F;     // of the lower height: this much is common
constexpr float kOtherHeight =
    0.8F;  // digits lower than this part of those beside them are raised or lowered

bool is_decimal(char c) { return c >= '0' && c <= '9'; }

// Joined, they would be another number: "1" and the fraction "1/2", an amount and its footnote, two cells.
bool are_two_numbers(const Word& before, const Word& after) {
  if (!is_decimal(before.text.back()) || !is_decimal(after.text.front())) return false;
  const float low = std::min(before.box.height(), after.box.height());
  const float high = std::max(before.box.height(), after.box.height());
  if (low < kOtherHeight * high) return true;
  return before.text.size() > 1 && after.text.size() > 1 && is_amount(before.text) && is_amount(after.text);
}

bool touch(const Box& before, const Box& after) {
  const float low = std::min(before.height(), after.height());
  const float common = std::min(before.y1, after.y1) - std::max(before.y0, after.y0);
  return std::abs(after.x0 - before.x1) < kPieceGap * low && common > kBeside * low;
}

bool may_be_piece(const Word& word) {
  return word.turn == Orientation::kNone && !word.leftwards && !word.text.empty();
}

bool are_pieces(const Word& before, const Word& after) {
  return may_be_piece(before) && may_be_piece(after) && touch(before.box, after.box) &&
         !written_together(before.text, after.text) && !are_two_numbers(before, after);
}

// The height of a word is that of the letters, not of what is raised or lowered among them.
void append(Word& word, const Word& piece) {
  if (piece.box.height() > word.box.height()) {
    word.box.y0 = piece.box.y0;
    word.box.y1 = piece.box.y1;
  }
  word.box.x1 = piece.box.x1;
  word.text += piece.text;
}

}  // namespace

void join_touching(std::vector<Word>& words, const std::vector<std::size_t>& lines) {
  std::vector<Word> joined;
  joined.reserve(words.size());
  auto line = lines.begin();
  bool first = true;  // of its line, so that it may be the mark of an item
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool begins = line != lines.end() && *line == i;
    if (begins) ++line;
    const bool mark = first && !joined.empty() && is_list_marker(joined.back().text);
    if (!begins && !joined.empty() && !mark && are_pieces(joined.back(), words[i])) {
      append(joined.back(), words[i]);
      continue;
    }
    joined.push_back(std::move(words[i]));
    first = begins;
  }
  words = std::move(joined);
}

}  // namespace millrace::engines
