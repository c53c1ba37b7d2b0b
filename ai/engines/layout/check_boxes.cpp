#include "ai/engines/layout/check_boxes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "ai/engines/layout/markers.h"
#include "ai/engines/layout/rows.h"

namespace millrace::engines {
namespace {

// In letter heights.
constexpr float kBesideMax = 2.5F;   // between a box and its text
constexpr float kIntoLetter = 0.3F;  // a box may reach into the white of a letter
constexpr float kHighMost = 3;       // a larger box is a frame
constexpr float kSpace = 0.3F;
constexpr float kReachMost = 1;
constexpr float kHeadOfBoxes = 2.5F;  // from a head to the first box of its column
// Of the side of a box.
constexpr float kBoxesDiffer = 0.25F;  // by which two boxes of a table differ
constexpr float kBoxesInLine = 0.3F;   // between their middles
constexpr float kSpelledBoxes = 0.6F;  // boxes closer than this are for the letters of one word
constexpr float kBelowMost = 6;        // between two boxes of a column
constexpr float kMarksNear = 15;       // the marks of a chart have others within this distance

constexpr std::size_t kMarksOfChart = 4;

constexpr std::size_t kCellsOfPageMost = 3000;  // more boxes are a drawing

constexpr std::string_view kEmptyBox = "☐", kTickedBox = "☑";

bool lies_in(const Box& word, const Box& box) {
  return word.middle_x() > box.x0 && word.middle_x() < box.x1 && word.middle_y() > box.y0 &&
         word.middle_y() < box.y1;
}

// Whether a word is a sign that ticks a box, or a box that is known already. A recogniser reads a tick as
// letters or marks.
bool is_tick(std::string_view word, bool recognised) {
  constexpr std::array<std::string_view, 16> kTicks{"x", "X", "✓", "✔", "✕", "✖", "✗", "✘",
                                                    "×", "•", "●", "■", "☑", "☒", "☐", "*"};
  constexpr std::array<std::string_view, 3> kReadings{"v", "V", "y"};
  if (recognised && (!has_letter_or_digit(word) || std::ranges::find(kReadings, word) != kReadings.end()))
    return true;
  return std::ranges::find(kTicks, word) != kTicks.end();
}

// How far a word is from a box of its line, to the right or to the left; infinite: it is elsewhere.
float distance(const Box& box, const Word& word, bool right) {
  const float letters = word.box.height();
  const bool beside = !word.figure && word.turn == Orientation::kNone && box.middle_y() > word.box.y0 &&
                      box.middle_y() < word.box.y1 && box.height() < kHighMost * letters;
  const float gap = right ? word.box.x0 - box.x1 : box.x0 - word.box.x1;
  const bool near = gap > -kIntoLetter * letters && gap < kBesideMax * letters;
  return beside && near ? gap : INFINITY;
}

// The nearest word on one side of the box.
Word* nearest_word(const Box& box, std::vector<Word>& words, bool right) {
  const auto nearest =
      std::ranges::min_element(words, {}, [&](const Word& word) { return distance(box, word, right); });
  return nearest != words.end() && std::isfinite(distance(box, *nearest, right)) ? &*nearest : nullptr;
}

// The word to the right of the box, or else to the left. A bar between two choices is none.
Word* text_beside(const Box& box, PageText& page) {
  Word* right = nearest_word(box, page.words, true);
  Word* left = nearest_word(box, page.words, false);
  const auto is_bar = [](const Word* word) { return word != nullptr && word->text == "|"; };
  if (is_bar(right) && left != nullptr) return is_bar(left) ? right : left;
  // So a recogniser reads an I that stands alone.
  if (is_bar(right) && page.recognised) right->text = "I";
  return right != nullptr ? right : left;
}

bool names_a_box(std::string_view text) {
  return has_letter_or_digit(text) && text.find_first_not_of("0123456789.,:-+%") != std::string_view::npos;
}

bool are_same_size(const Box& one, const Box& other) {
  return std::abs(one.width() - other.width()) < kBoxesDiffer * one.width() &&
         std::abs(one.height() - other.height()) < kBoxesDiffer * one.height();
}

bool are_in_line(const Box& one, const Box& other) {
  return std::abs(one.middle_y() - other.middle_y()) <= kBoxesInLine * one.height();
}

bool are_in_column(const Box& one, const Box& other) {
  return std::abs(one.middle_x() - other.middle_x()) < kBoxesInLine * one.width();
}

// The distance of two boxes on one line; infinite: they are not.
float gap_on_line(const Box& one, const Box& other) {
  if (!are_in_line(one, other)) return INFINITY;
  return std::max(one.x0, other.x0) - std::min(one.x1, other.x1);
}

// Whether a text stands in the line of a box, or a head above it.
bool is_named(const Box& box, const std::vector<Word>& words) {
  return std::ranges::any_of(words, [&box](const Word& word) {
    const float letters = word.box.height();
    if (word.figure || word.turn != Orientation::kNone || box.height() > kHighMost * letters) return false;
    const bool on_line = box.middle_y() > word.box.y0 && box.middle_y() < word.box.y1;
    const bool above = word.box.x0 < box.x1 && word.box.x1 > box.x0 && word.box.y1 < box.middle_y() &&
                       box.y0 - word.box.y1 < kHeadOfBoxes * letters;
    return above || (on_line && names_a_box(word.text));
  });
}

bool are_near(const Box& one, const Box& other) {
  return std::abs(one.middle_x() - other.middle_x()) < kMarksNear * one.width() &&
         std::abs(one.middle_y() - other.middle_y()) < kMarksNear * one.height();
}

// Whether a box is a mark of a chart: most boxes around it that have no text are neither in its line, nor in
// its column, nor at the corner of a rectangle with others that are.
bool is_mark_of_chart(std::size_t i, const std::vector<CheckBox>& boxes,
                      const std::vector<const Word*>& texts) {
  const Box& box = boxes[i].box;
  std::vector<const Box*> line, column;
  std::vector<std::size_t> others;
  for (std::size_t k = 0; k < boxes.size(); ++k) {
    const Box& other = boxes[k].box;
    if (i == k || !are_same_size(box, other) || !are_near(box, other)) continue;
    if (are_in_line(box, other)) {
      line.push_back(&other);
    } else if (are_in_column(box, other)) {
      column.push_back(&other);
    } else {
      others.push_back(k);
    }
  }
  std::size_t regular = line.size() + column.size(), askew = 0;
  for (const std::size_t k : others) {
    const Box& other = boxes[k].box;
    const bool is_corner =
        std::ranges::any_of(line, [&](const Box* each) { return are_in_column(*each, other); }) ||
        std::ranges::any_of(column, [&](const Box* each) { return are_in_line(*each, other); });
    if (is_corner) {
      ++regular;
    } else if (texts[k] == nullptr && !boxes[k].button) {
      ++askew;
    }
  }
  return askew > regular;
}

// Whether the boxes are cells of a table: they share a line or a column with each other, and one of the two
// is named. `marks`: of charts.
std::vector<bool> are_cells(const std::vector<CheckBox>& boxes, const std::vector<bool>& marks,
                            const std::vector<Word>& words) {
  std::vector<bool> named, cells(boxes.size(), false);
  for (const CheckBox& each : boxes) named.push_back(is_named(each.box, words));
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    const Box& box = boxes[i].box;
    for (std::size_t k = 0; k < boxes.size() && !marks[i]; ++k) {
      const Box& other = boxes[k].box;
      if (i == k || !are_same_size(box, other)) continue;
      const float gap = gap_on_line(box, other);
      const bool below = are_in_column(box, other) &&
                         std::abs(box.middle_y() - other.middle_y()) < kBelowMost * box.height();
      if ((below || std::isfinite(gap)) && (named[i] || named[k])) cells[i] = true;
      if (gap > kSpelledBoxes * box.width()) continue;
      cells[i] = false;
      break;
    }
  }
  return cells;
}

// Which boxes to write, of those with a text beside them and those without.
std::vector<bool> boxes_to_write(const std::vector<CheckBox>& boxes, const std::vector<const Word*>& texts,
                                 const std::vector<Word>& words) {
  std::vector<bool> written(boxes.size(), false), marks(boxes.size(), false);
  const bool is_drawing = boxes.size() > kCellsOfPageMost;
  for (std::size_t i = 0; i < boxes.size() && !is_drawing; ++i)
    marks[i] = texts[i] == nullptr && !boxes[i].button && is_mark_of_chart(i, boxes, texts);
  if (!is_drawing) written = are_cells(boxes, marks, words);
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    if (boxes[i].button) written[i] = true;
    if (boxes[i].button || texts[i] == nullptr) continue;
    // The legend of a chart has one of its marks beside each name.
    std::size_t like_it = 0, with_text = 0;
    for (std::size_t k = 0; k < boxes.size() && !is_drawing; ++k) {
      if (!are_same_size(boxes[i].box, boxes[k].box)) continue;
      like_it += marks[k] ? 1 : 0;
      with_text += texts[k] != nullptr ? 1 : 0;
    }
    written[i] = like_it < std::max(kMarksOfChart, with_text);
  }
  return written;
}

// The word of a box without a text beside it: as high as the text of its line, or as the letters of the page.
Word word_of_cell(const Box& box, const std::vector<Word>& words, float letters) {
  const Word* nearest = nullptr;
  const auto away = [&box](const Word& word) { return std::abs(word.box.middle_x() - box.middle_x()); };
  for (const Word& word : words) {
    if (word.figure || word.turn != Orientation::kNone) continue;
    if (box.middle_y() <= word.box.y0 || box.middle_y() >= word.box.y1) continue;
    if (box.height() > kHighMost * word.box.height()) continue;
    if (nearest == nullptr || away(word) < away(*nearest)) nearest = &word;
  }
  if (nearest == nullptr)
    return {{box.x0, box.middle_y() - letters / 2, box.x1, box.middle_y() + letters / 2}, {}};
  Word word{{box.x0, nearest->box.y0, box.x1, nearest->box.y1}, {}};
  word.line = nearest->line;
  return word;
}

Word word_beside(const Box& box, const Word& text) {
  // A box reaches to its text, so that no column ends between them.
  const float end = std::max(
      box.x1, std::min(text.box.x0 - kSpace * text.box.height(), box.x1 + kReachMost * text.box.height()));
  Word word{{box.x0, text.box.y0, end, text.box.y1}, {}};
  word.line = text.line;
  return word;
}

float letters_beside(const PageText& page, const Box& box) {
  Words words;
  for (const Word& word : page.words) {
    if (!word.figure) words.push_back(&word);
  }
  return words.empty() ? box.height() : body_letters(words);
}

// Takes out the boxes that are frames around other text. Ticks those with a sign in them, and takes the sign.
void take_signs(std::vector<CheckBox>& boxes, PageText& page) {
  std::erase_if(boxes, [&page](const CheckBox& each) {
    return std::ranges::any_of(page.words, [&](const Word& word) {
      return !word.figure && lies_in(word.box, each.box) && !is_tick(word.text, page.recognised);
    });
  });
  for (CheckBox& each : boxes) {
    const auto inside = [&each](const Word& word) { return !word.figure && lies_in(word.box, each.box); };
    const auto ticks = [&](const Word& word) {
      return !page.recognised && inside(word) && word.text != kEmptyBox;  // a picture shows the tick itself
    };
    each.ticked = each.ticked || std::ranges::any_of(page.words, ticks);
    std::erase_if(page.words, inside);
  }
}

}  // namespace

void add_check_boxes(std::vector<CheckBox> boxes, PageText& page) {
  take_signs(boxes, page);
  if (boxes.empty()) return;
  std::vector<Word> added;
  std::vector<const Word*> texts;
  for (const CheckBox& each : boxes) texts.push_back(text_beside(each.box, page));
  const std::vector<bool> written = boxes_to_write(boxes, texts, page.words);
  const float letters = letters_beside(page, boxes.front().box);
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    if (!written[i]) continue;
    const CheckBox& each = boxes[i];
    const Word* text = texts[i];
    Word word = text != nullptr ? word_beside(each.box, *text) : word_of_cell(each.box, page.words, letters);
    word.text = each.ticked ? kTickedBox : kEmptyBox;
    added.push_back(std::move(word));
  }
  page.words.insert(page.words.end(), added.begin(), added.end());
}

std::string with_plain_check_boxes(std::string markdown) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kPlain{
      {{kEmptyBox, "[ ]"}, {kTickedBox, "[x]"}, {"☒", "[x]"}}};
  for (const auto& [sign, plain] : kPlain) {
    for (std::size_t at = 0; (at = markdown.find(sign, at)) != std::string::npos; at += plain.size()) {
      const std::size_t end = at + sign.size();
      const char next = end < markdown.size() ? markdown[end] : ' ';
      if (next != '(' && next != '[' && next != ':') markdown.replace(at, sign.size(), plain);
    }
  }
  return markdown;
}

}  // namespace millrace::engines
