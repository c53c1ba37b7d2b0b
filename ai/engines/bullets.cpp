#include "ai/engines/bullets.h"

#include <algorithm>

#include "ai/engines/rows.h"

namespace millrace::engines {
namespace {

// In letter heights.
constexpr float kSizeMin = 0.15F;
constexpr float kSizeMax = 0.5F;
constexpr float kGapMin = 0.3F;  // between the dot and the row's first word
constexpr float kGapMax = 2.5F;

bool stands_before(const Box& mark, const Row& row) {
  const float letters = row.height;
  if (mark.height() < kSizeMin * letters || mark.height() > kSizeMax * letters) return false;
  const float gap = row.box.x0 - mark.x1;
  if (gap < kGapMin * letters || gap > kGapMax * letters) return false;
  // The middle of a bullet is between the middle of the row and the baseline.
  const float down = (mark.middle_y() - row.box.y0) / row.box.height();
  return down > 0.35F && down < 0.75F;
}

// Nothing else stands at this height to the left: it is no dot in a picture or between columns.
bool alone(const Box& mark, const std::vector<Box>& marks, const Row& row) {
  return std::none_of(marks.begin(), marks.end(), [&](const Box& other) {
    const bool beside = other.middle_y() > row.box.y0 && other.middle_y() < row.box.y1;
    return beside && &other != &mark && other.x1 < row.box.x0 && other.x1 > mark.x0 - 3 * row.height;
  });
}

}  // namespace

void add_bullets(const std::vector<Box>& marks, std::vector<Word>& words) {
  Words all;
  for (const Word& word : words) all.push_back(&word);
  std::vector<Word> bullets;
  for (const Row& row : make_rows(std::move(all))) {
    const auto mark = std::find_if(marks.begin(), marks.end(), [&](const Box& each) {
      return stands_before(each, row) && alone(each, marks, row);
    });
    if (mark != marks.end())
      bullets.push_back({{mark->x0, row.box.y0, mark->x1, row.box.y1}, "•", false, false});
  }
  words.insert(words.end(), bullets.begin(), bullets.end());
}

}  // namespace millrace::engines
