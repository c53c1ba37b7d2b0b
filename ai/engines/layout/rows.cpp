#include "ai/engines/layout/rows.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ai/engines/layout/leaders.h"
#include "ai/engines/layout/markers.h"

namespace millrace::engines {
namespace {

constexpr float kOverlap = 0.5F;
constexpr float kTogether = 0.8F;  // letter heights; a full stop has space around it

bool overlaps(const Row& row, const Word& word) {
  if (row.figure() || word.figure) return false;
  const float common = std::min(row.box.y1, word.box.y1) - std::max(row.box.y0, word.box.y0);
  const float smaller = std::min(row.box.height(), word.box.height());
  return common > kOverlap * smaller;
}

void include(Box& box, const Box& other) {
  box.x0 = std::min(box.x0, other.x0);
  box.y0 = std::min(box.y0, other.y0);
  box.x1 = std::max(box.x1, other.x1);
  box.y1 = std::max(box.y1, other.y1);
}

// The height of a row is that of its first word, so that superscripts do not extend it over its neighbours.
void add(Row& row, const Word& word) {
  row.words.push_back(&word);
  row.box.x0 = std::min(row.box.x0, word.box.x0);
  row.box.x1 = std::max(row.box.x1, word.box.x1);
  if (word.box.height() > row.box.height() && word.box.height() < 1.5F * row.box.height()) {
    row.box.y0 = std::min(row.box.y0, word.box.y0);
    row.box.y1 = std::max(row.box.y1, word.box.y1);
  }
}

// Whether the row ends with dots that lead to nothing, as the blanks of a form do: "Name ........ Date
// ......".
bool ends_with_dots(const Row& row) {
  std::size_t dots = 0;
  for (auto word = row.words.rbegin(); word != row.words.rend() && !(*word)->figure; ++word) {
    const std::size_t more = dots_of((*word)->text);
    if (more == 0) break;
    dots += more;
  }
  return dots >= kLeaderMin;
}

// Takes the dots that lead to a word out of the row.
void take_leaders(Row& row) {
  if (ends_with_dots(row)) return;
  Words kept;
  for (std::size_t first = 0, end = 0; first < row.words.size(); first = end) {
    const Word& word = *row.words[first];
    std::size_t dots = word.figure ? 0 : dots_of(word.text);
    for (end = first + 1; dots > 0 && end < row.words.size(); ++end) {
      const Word& next = *row.words[end];
      const std::size_t more = dots_of(next.text);
      if (more == 0 || next.box.x0 - row.words[end - 1]->box.x1 > word.box.height()) break;
      dots += more;
    }
    const bool leads = dots >= kLeaderMin && end < row.words.size();
    Words& all = leads ? row.leaders : kept;
    const auto at = [&row](std::size_t i) { return row.words.begin() + static_cast<std::ptrdiff_t>(i); };
    all.insert(all.end(), at(first), at(end));
  }
  row.words = std::move(kept);
}

void finish(Row& row) {
  std::stable_sort(row.words.begin(), row.words.end(),
                   [](const Word* a, const Word* b) { return a->box.x0 < b->box.x0; });
  take_leaders(row);
  row.height = row.figure() ? row.box.height() : letter_height(row.words);
}

// A recogniser splits text that is written without spaces into words.
bool run_on(const Word& before, const Word& after) {
  const float gap = after.box.x0 - before.box.x1;
  return gap < kTogether * after.box.height() && written_together(before.text, after.text);
}

// How many of the previous rows a word may belong to; words are sorted from top to bottom.
constexpr std::size_t kLookBack = 6;

}  // namespace

bool Row::bold() const {
  return std::all_of(words.begin(), words.end(), [](const Word* word) { return word->bold; });
}

std::string Row::text() const {
  std::string result;
  const Word* before = nullptr;
  for (const Word* word : words) {
    if (before != nullptr && !run_on(*before, *word)) result += ' ';
    result += word->text;
    before = word;
  }
  return result;
}

float Row::widest_gap(std::size_t& at, std::size_t from) const {
  float widest = 0;
  for (std::size_t i = from + 1; i < words.size(); ++i) {
    const float gap = words[i]->box.x0 - words[i - 1]->box.x1;
    if (gap <= widest) continue;
    widest = gap;
    at = i;
  }
  return widest;
}

Box bounds(const Words& words) {
  if (words.empty()) return {};
  Box box = words.front()->box;
  for (const Word* word : words) include(box, word->box);
  return box;
}

Box bounds(const std::vector<Row>& rows) {
  Words words;
  for (const Row& row : rows) words.insert(words.end(), row.words.begin(), row.words.end());
  return bounds(words);
}

float median(std::vector<float> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

float body_letters(const Words& words) {
  constexpr std::size_t kCharactersMost = 12;  // of a word
  std::vector<float> heights;
  for (const Word* word : words) {
    if (word->figure) continue;
    heights.insert(heights.end(), std::min(word->text.size(), kCharactersMost), word->box.height());
  }
  return std::max(median(std::move(heights)), 1.0F);
}

float letter_height(const Words& words) {
  std::vector<float> heights;
  heights.reserve(words.size());
  for (const Word* word : words) {
    if (!word->figure) heights.push_back(word->box.height());
  }
  return median(std::move(heights));
}

std::vector<Row> make_rows(Words words) {
  std::stable_sort(words.begin(), words.end(),
                   [](const Word* a, const Word* b) { return a->box.middle_y() < b->box.middle_y(); });
  std::vector<Row> rows;
  for (const Word* word : words) {
    const auto last = rows.rbegin() + static_cast<std::ptrdiff_t>(std::min(rows.size(), kLookBack));
    const auto home = std::find_if(rows.rbegin(), last, [&](const Row& row) { return overlaps(row, *word); });
    if (home != last) {
      add(*home, *word);
    } else {
      rows.push_back({word->box, 0, {word}});
    }
  }
  for (Row& row : rows) finish(row);
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.box.y0 < b.box.y0; });
  return rows;
}

// Between words above each other, as a row of a scan may slant.
float step_to(const std::vector<Row>& rows, std::size_t i) {
  constexpr float kSameHeight = 0.02F;  // of words of one size
  const Row &above = rows[i - 1], &row = rows[i];
  const bool narrower = row.box.width() < above.box.width();
  const Box& one = (narrower ? row : above).words.front()->box;
  const auto far = [&](const Word* word) { return std::abs(word->box.middle_x() - one.middle_x()); };
  const Box& other = (*std::ranges::min_element((narrower ? above : row).words, {}, far))->box;
  if (std::abs(one.height() - other.height()) > kSameHeight * one.height()) return row.box.y0 - above.box.y0;
  return narrower ? one.y0 - other.y0 : other.y0 - one.y0;
}

}  // namespace millrace::engines
