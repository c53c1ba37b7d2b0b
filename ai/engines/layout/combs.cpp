#include "ai/engines/layout/combs.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

#include "schemas/json/json_text.h"

namespace millrace::engines {
namespace {

constexpr std::size_t kBoxedMin = 3;  // characters of a field
constexpr std::size_t kBoxedRulesMost = 4000;
constexpr float kBoxedSameRow = 0.3F;  // of the height of a word
constexpr float kBoxedPitchMost = 4;   // the distance of two characters, of the height of a word
constexpr float kNextGroup = 1.15F;    // the same, of the usual one: a gap or an empty box is between them
constexpr float kBoxHighMost = 3.5F;   // of the height of a word
constexpr float kBoxOpenMost =
    0.5F;  // a rule that goes on this far above or below belongs to a table of rows

bool is_boxed_character(const Word& word) {
  return !word.figure && !word.leftwards && word.turn == Orientation::kNone &&
         schemas::characters(word.text) == 1;
}

// Whether a line as high as a box stands between two characters.
bool is_between(const Box& rule, const Box& left, const Box& right) {
  const float y = left.middle_y();
  return rule.middle_x() > left.middle_x() && rule.middle_x() < right.middle_x() && rule.y0 < y &&
         rule.y1 > y && rule.height() < kBoxHighMost * left.height();
}

// Whether another line continues this one: the rows of a table.
bool goes_on(const Box& rule, const std::vector<Box>& down) {
  const float near = kBoxOpenMost * rule.height();
  return std::ranges::any_of(down, [&](const Box& other) {
    const bool same_place = std::fabs(other.middle_x() - rule.middle_x()) < near / 4;
    const bool above = other.y1 > rule.y0 - near / 4 && other.y0 < rule.y0 - near;
    const bool below = other.y0 < rule.y1 + near / 4 && other.y1 > rule.y1 + near;
    return same_place && (above || below);
  });
}

// Whether a line across parts the boxes above and below it: the rows of a table.
bool is_crossed(const Box& rule, const std::vector<Box>& across) {
  const float near = rule.height() / 6;
  return std::ranges::any_of(across, [&](const Box& other) {
    return other.x0 < rule.middle_x() - near && other.x1 > rule.middle_x() + near &&
           other.middle_y() > rule.y0 + near && other.middle_y() < rule.y1 - near;
  });
}

bool stand_in_boxes(const Word& left, const Word& right, const Rules& rules) {
  const float height = left.box.height();
  if (std::fabs(left.box.middle_y() - right.box.middle_y()) > kBoxedSameRow * height) return false;
  if (right.box.middle_x() - left.box.middle_x() > kBoxedPitchMost * height) return false;
  return std::ranges::any_of(rules.down, [&](const Box& rule) {
    return is_between(rule, left.box, right.box) && !goes_on(rule, rules.down) &&
           !is_crossed(rule, rules.across);
  });
}

bool is_around(const Box& box, const Word& word) {
  const float x = word.box.middle_x(), y = word.box.middle_y();
  return x > box.x0 && x < box.x1 && y > box.y0 && y < box.y1;
}

Word joined_field(const std::vector<const Word*>& run) {
  std::vector<float> pitches;
  for (std::size_t i = 1; i < run.size(); ++i)
    pitches.push_back(run[i]->box.middle_x() - run[i - 1]->box.middle_x());
  const float usual = std::ranges::min(pitches);
  Word word = *run.front();
  for (std::size_t i = 1; i < run.size(); ++i) {
    if (pitches[i - 1] > kNextGroup * usual) word.text += ' ';
    word.text += run[i]->text;
    word.box = united(word.box, run[i]->box);
  }
  return word;
}

}  // namespace

void join_boxed_characters(const Rules& rules, std::vector<CheckBox>& boxes, PageText& page) {
  if (rules.down.size() < kBoxedMin - 1 || rules.down.size() > kBoxedRulesMost) return;
  std::vector<const Word*> characters;
  for (const Word& word : page.words)
    if (is_boxed_character(word)) characters.push_back(&word);
  if (characters.size() < kBoxedMin || characters.size() > kBoxedRulesMost) return;
  std::ranges::sort(characters, {}, [](const Word* word) { return word->box.x0; });
  std::vector<std::vector<const Word*>> runs;
  for (const Word* word : characters) {
    const auto run = std::ranges::find_if(
        runs, [&](const auto& each) { return stand_in_boxes(*each.back(), *word, rules); });
    (run == runs.end() ? runs.emplace_back() : *run).push_back(word);
  }
  std::vector<Word> fields;
  std::vector<const Word*> taken;
  for (const auto& run : runs) {
    if (run.size() < kBoxedMin) continue;
    fields.push_back(joined_field(run));
    taken.insert(taken.end(), run.begin(), run.end());
  }
  std::erase_if(boxes, [&](const CheckBox& box) {
    return std::ranges::any_of(taken, [&](const Word* word) { return is_around(box.box, *word); });
  });
  std::ranges::sort(taken);
  std::vector<Word> words;
  for (Word& word : page.words) {
    if (!std::ranges::binary_search(taken, &word)) words.push_back(std::move(word));
  }
  std::ranges::move(fields, std::back_inserter(words));
  page.words = std::move(words);
}

}  // namespace millrace::engines
