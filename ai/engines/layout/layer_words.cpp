#include "ai/engines/layout/layer_words.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "ai/engines/layout/leaders.h"
#include "ai/engines/layout/markers.h"
#include "schemas/json/json_text.h"

namespace millrace::engines {
namespace {

constexpr float kUpended = 1.4F;        // taller than wide by this factor: the text is turned
constexpr std::size_t kUpendedMin = 3;  // characters

std::size_t character_length(std::string_view text, std::size_t at) {
  std::size_t end = at + 1;
  while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
  return end - at;
}

// Any space but the narrow one, which groups the digits of a number.
bool is_space(std::string_view character) {
  return character == " " || character == "\u00a0" || character == "\u3000" ||
         (character.starts_with("\xE2\x80") && character >= "\u2000" && character <= "\u200a");
}

// A repeated letter of a text that is not mapped at all is wider.
constexpr float kDotMost = 0.31F;  // width of a dot of a leader, of the height of its box

// Replaces the same unmapped glyph in a row by dots. Every letter of an unmapped font may be U+FFFD; other
// private-use characters are equal only if their glyphs are.
void name_leaders(Word& word) {
  std::string named;
  bool found = false;
  const std::string& text = word.text;
  const bool narrow =
      word.box.width() < kDotMost * word.box.height() * static_cast<float>(schemas::characters(text));
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view character = std::string_view(text).substr(at, character_length(text, at));
    std::size_t count = 1;
    while (std::string_view(text).substr(at + count * character.size()).starts_with(character)) ++count;
    const bool leader = count >= kLeaderMin && is_unmapped(character) && (narrow || character != "\uFFFD");
    found = found || leader;
    if (leader) {
      named.append(count, '.');
    } else {
      named.append(text, at, count * character.size());
    }
    at += count * character.size();
  }
  if (found) word.text = std::move(named);
}

struct Span {
  std::size_t first = 0, end = 0;  // characters
  std::string text;
};

// The parts of `text` without spaces; `characters` becomes the length of all of it.
std::vector<Span> parts_of(std::string_view text, std::size_t most, std::size_t& characters) {
  std::vector<Span> parts;
  bool inside = false;
  characters = 0;
  for (std::size_t at = 0; at < text.size(); ++characters) {
    const std::string_view character = text.substr(at, character_length(text, at));
    at += character.size();
    if (is_space(character)) {
      inside = false;
      continue;
    }
    if (!inside && parts.size() == most) break;
    if (!inside) parts.push_back({characters, characters, {}});
    inside = true;
    parts.back().text += character;
    parts.back().end = characters + 1;
  }
  return parts;
}

}  // namespace

bool is_unmapped(std::string_view character) {
  return character == "\uFFFD" || (character >= "\uE000" && character <= "\uF8FF");
}

std::vector<Word> words_within(const Box& box, std::string_view text, std::size_t most) {
  std::vector<Word> words;
  std::size_t characters = 0;
  const std::vector<Span> parts = parts_of(text, most, characters);
  if (parts.size() > 1 && characters >= kUpendedMin && box.height() > kUpended * box.width()) {
    words.push_back({box, std::string(text)});
    return words;
  }
  const float each = box.width() / static_cast<float>(std::max<std::size_t>(characters, 1));
  for (const Span& part : parts) {
    const float x0 = box.x0 + each * static_cast<float>(part.first);
    const float x1 = part.end == characters ? box.x1 : box.x0 + each * static_cast<float>(part.end);
    words.push_back({{x0, box.y0, x1, box.y1}, part.text});
    name_leaders(words.back());
  }
  return words;
}

namespace {

// The size of a font is about twice the mean width of its characters.
constexpr float kSizeOfWidth = 2;
constexpr float kFlat = 0.25F;  // of the size: letters are higher
constexpr float kAbove = 0.8F;  // of the size, above the baseline
constexpr float kBelow = 0.2F;
constexpr std::size_t kTellingMin = 8;  // characters whose mean width tells the size of a font

// Widths of characters, of words with two or more: a dash is as wide as it likes.
struct Widths {
  float sum = 0;
  std::size_t characters = 0;

  void add(const Word& word) {
    const std::size_t count = schemas::characters(word.text);
    if (count < 2) return;
    sum += word.box.width();
    characters += count;
  }
  // Of the font; 0: unknown.
  float size() const { return characters == 0 ? 0 : kSizeOfWidth * sum / static_cast<float>(characters); }
};

bool is_upright(const Word& word) { return word.turn == Orientation::kNone; }

bool is_flat(const Word& word) {
  const auto count = static_cast<float>(schemas::characters(word.text));
  return is_upright(word) && word.box.height() * count < kFlat * kSizeOfWidth * word.box.width();
}

// The bottom of a flat box is close to the baseline.
void set_height(Box& box, float size) {
  box.y0 = box.y1 - kAbove * size;
  box.y1 += kBelow * size;
}

}  // namespace

void mend_flat_boxes(std::vector<Word>& words, const std::vector<std::size_t>& lines) {
  if (std::none_of(words.begin(), words.end(), is_flat)) return;
  Widths page;
  for (const Word& word : words) {
    if (is_flat(word)) page.add(word);
  }
  std::vector<std::size_t> ends(lines);
  ends.push_back(words.size());
  std::size_t first = 0;
  for (const std::size_t end : ends) {
    Widths line;
    for (std::size_t i = first; i < end; ++i) {
      if (is_flat(words[i])) line.add(words[i]);
    }
    const float size = (line.characters < kTellingMin ? page : line).size();
    for (std::size_t i = first; size > 0 && i < end; ++i) {
      if (is_flat(words[i])) set_height(words[i].box, size);
    }
    first = end;
  }
}

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

bool may_be_piece(const Word& word) { return is_upright(word) && !word.leftwards && !word.text.empty(); }

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
    bool begins = false;
    for (; line != lines.end() && *line == i; ++line) begins = true;
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

namespace {

// In mean widths of the letters before the gap. Otherwise a gap is about half a letter wide; one letter in a
// font of fixed width.
constexpr float kCutGap = 1.15F;
constexpr float kCutPart = 0.8F;        // of the gaps
constexpr std::size_t kCutGapsMin = 4;  // of a page

// The gap from a word to the next one of its line, in mean widths of its letters.
std::optional<float> gap_in_letters(const Word& word, const Word& next) {
  const bool follows = next.line == word.line && next.turn == word.turn && !word.figure && !next.figure;
  const auto letters = static_cast<float>(schemas::characters(word.text));
  if (!follows || letters == 0 || word.leftwards || next.leftwards) return std::nullopt;
  const Box &from = word.box, &to = next.box;
  const bool on_end = word.turn == Orientation::kUp || word.turn == Orientation::kDown;
  const float length = on_end ? from.height() : from.width();
  if (!(length > 0)) return std::nullopt;
  const float gap =
      on_end ? std::max(to.y0 - from.y1, from.y0 - to.y1) : std::max(to.x0 - from.x1, from.x0 - to.x1);
  return gap * letters / length;
}

void lengthen(Word& word) {
  const auto letters = static_cast<float>(std::max<std::size_t>(schemas::characters(word.text), 1));
  Box& box = word.box;
  const float across = box.width() / letters, down = box.height() / letters;
  switch (word.turn) {
    case Orientation::kNone:
      return void(box.x1 += across);
    case Orientation::kOver:
      return void(box.x0 -= across);
    case Orientation::kDown:
      return void(box.y1 += down);
    case Orientation::kUp:
      return void(box.y0 -= down);
  }
}

}  // namespace

void mend_cut_boxes(std::vector<Word>& words) {
  std::size_t gaps = 0, wide = 0;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const auto gap = gap_in_letters(words[i - 1], words[i]);
    if (!gap) continue;
    ++gaps;
    if (*gap >= kCutGap) ++wide;
  }
  if (gaps < kCutGapsMin || static_cast<float>(wide) < kCutPart * static_cast<float>(gaps)) return;
  for (Word& word : words) {
    if (!word.figure && !word.leftwards) lengthen(word);
  }
}

}  // namespace millrace::engines
