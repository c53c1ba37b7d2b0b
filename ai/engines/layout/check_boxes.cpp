#include "ai/engines/layout/check_boxes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

namespace millrace::engines {
namespace {

// In letter heights.
constexpr float kBesideMax = 2.5F;   // between a box and its text
constexpr float kIntoLetter = 0.3F;  // a box may reach into the white of a letter
constexpr float kHighMost = 3;       // a larger box is a frame
constexpr float kSpace = 0.3F;
constexpr float kReachMost = 1;

constexpr std::string_view kEmptyBox = "☐", kTickedBox = "☑";

bool lies_in(const Box& word, const Box& box) {
  return word.middle_x() > box.x0 && word.middle_x() < box.x1 && word.middle_y() > box.y0 &&
         word.middle_y() < box.y1;
}

// Whether a word is a sign that ticks a box, or a box that is known already.
bool is_tick(std::string_view word) {
  constexpr std::array<std::string_view, 16> kTicks{"x", "X", "✓", "✔", "✕", "✖", "✗", "✘",
                                                    "×", "•", "●", "■", "☑", "☒", "☐", "*"};
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

// The word to the right of the box, or else to the left.
Word* text_beside(const Box& box, std::vector<Word>& words) {
  for (const bool right : {true, false}) {
    const auto nearest =
        std::ranges::min_element(words, {}, [&](const Word& word) { return distance(box, word, right); });
    if (nearest != words.end() && std::isfinite(distance(box, *nearest, right))) return &*nearest;
  }
  return nullptr;
}

}  // namespace

void add_check_boxes(std::vector<CheckBox> boxes, std::vector<Word>& words) {
  // A frame around other text is none.
  std::erase_if(boxes, [&words](const CheckBox& each) {
    return std::ranges::any_of(words, [&each](const Word& word) {
      return !word.figure && lies_in(word.box, each.box) && !is_tick(word.text);
    });
  });
  for (CheckBox& each : boxes) {
    const auto inside = [&each](const Word& word) { return !word.figure && lies_in(word.box, each.box); };
    const auto ticks = [&](const Word& word) { return inside(word) && word.text != kEmptyBox; };
    each.ticked = each.ticked || std::ranges::any_of(words, ticks);
    std::erase_if(words, inside);
  }
  std::vector<Word> added;
  for (const CheckBox& each : boxes) {
    Word* text = text_beside(each.box, words);
    if (text == nullptr) continue;
    if (text->text == "|") text->text = "I";  // so a recogniser reads it where it stands alone
    // A box reaches to its text, so that no column ends between them.
    const float end = std::max(each.box.x1, std::min(text->box.x0 - kSpace * text->box.height(),
                                                     each.box.x1 + kReachMost * text->box.height()));
    Word word{{each.box.x0, text->box.y0, end, text->box.y1},
              std::string(each.ticked ? kTickedBox : kEmptyBox)};
    word.line = text->line;
    added.push_back(std::move(word));
  }
  words.insert(words.end(), added.begin(), added.end());
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
