#include "ai/engines/layout/bullets.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string_view>

#include "ai/engines/layout/markers.h"

namespace millrace::engines {
namespace {

// The letters that Wingdings and Courier New have for bullets.
constexpr std::array<std::string_view, 8> kLettersOfBullets{"o", "§", "Ø", "v", "q", "ü", "l", "u"};
// Read from a scan, these are cells of tables.
constexpr std::array<std::string_view, 2> kZeros{"0", "O"};

// In letter heights.
constexpr float kBehindMin = 0.4F;
constexpr float kBehindMax = 4;
constexpr float kCellGap = 1.1F;  // a row with such a gap in its text is one of a table
constexpr float kSameMark = 0.3F;
constexpr float kSameText = 0.3F;

constexpr float kWiderThanSpace = 1.3F;  // the gap after the mark, of the widest other gap of its row
constexpr std::size_t kRowsApartMax = 8;
constexpr std::size_t kAlikeInText = 2;  // rows
constexpr std::size_t kAlikeInScan = 3;

template <std::size_t N>
bool is_one_of(std::string_view word, const std::array<std::string_view, N>& set) {
  return std::find(set.begin(), set.end(), word) != set.end();
}

bool may_be_bullet(std::string_view word, bool recognised) {
  if (recognised) return is_misread_bullet(word) && !is_one_of(word, kZeros);
  return is_one_of(word, kLettersOfBullets);
}

bool is_set_apart(const Row& row, float letters) {
  if (row.figure() || row.words.size() < 2) return false;
  const float gap = row.words[1]->box.x0 - row.words[0]->box.x1;
  std::size_t at = 0;
  const float widest = row.widest_gap(at, 1);
  return gap > kBehindMin * letters && gap < kBehindMax * letters && gap > kWiderThanSpace * widest &&
         widest < kCellGap * letters;
}

bool are_alike(const Row& one, const Row& other, float letters, bool recognised) {
  const Word &mark = *one.words[0], &second = *other.words[0];
  const bool same_mark = recognised || mark.text == second.text || is_bullet(second.text);
  return same_mark && std::abs(mark.box.x0 - second.box.x0) < kSameMark * letters &&
         std::abs(one.words[1]->box.x0 - other.words[1]->box.x0) < kSameText * letters;
}

}  // namespace

void name_bullets(std::vector<Row>& rows, float letters, bool recognised, std::deque<Word>& named) {
  std::vector<std::size_t> marked;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string_view first = rows[i].words.front()->text;
    const bool mark = may_be_bullet(first, recognised) || is_bullet(first);
    if (mark && is_set_apart(rows[i], letters)) marked.push_back(i);
  }
  const std::size_t least = recognised ? kAlikeInScan : kAlikeInText;
  std::vector<std::size_t> bullets;
  for (const std::size_t i : marked) {
    const auto first = std::ranges::lower_bound(marked, i - std::min(i, kRowsApartMax));
    const auto last = std::ranges::upper_bound(marked, i + kRowsApartMax);
    const auto count = std::count_if(
        first, last, [&](std::size_t k) { return are_alike(rows[i], rows[k], letters, recognised); });
    if (static_cast<std::size_t>(count) >= least && !is_bullet(rows[i].words[0]->text)) bullets.push_back(i);
  }
  for (const std::size_t i : bullets) {
    named.push_back(*rows[i].words[0]);
    named.back().text = "•";
    rows[i].words[0] = &named.back();
  }
}

}  // namespace millrace::engines
