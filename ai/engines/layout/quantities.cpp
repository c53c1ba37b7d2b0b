#include "ai/engines/layout/quantities.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "ai/engines/layout/number_shape.h"

namespace millrace::engines {
namespace {

constexpr float kQuantityGap = 1.5F;      // of the height of a word
constexpr float kQuantitySameRow = 0.3F;  // the same
constexpr std::size_t kQuantityRowsMin = 2;

bool is_plain_number(std::string_view text) {
  return digits_in(text) > 0 && text.find_first_not_of("0123456789.,") == text.npos;
}

bool is_times(std::string_view text) { return text == "x" || text == "X" || text == "×" || text == "*"; }

bool is_measure(std::string_view text) {
  constexpr std::array<std::string_view, 8> kMeasures{"kg", "g", "l", "L", "ml", "m", "pcs", "St"};
  return std::ranges::find(kMeasures, text) != kMeasures.end();
}

// "1.15", "2.99/kg"
bool is_price(std::string_view text) {
  const std::string_view number = text.substr(0, text.find('/'));
  return is_plain_number(number) && number.find_first_of(".,") != number.npos;
}

bool are_beside(const Word& left, const Word& right) {
  const float height = std::max(left.box.height(), right.box.height()), gap = right.box.x0 - left.box.x1;
  return std::fabs(left.box.middle_y() - right.box.middle_y()) < kQuantitySameRow * height &&
         gap > -height / 2 && gap < kQuantityGap * height;
}

// How many words from `first` on are a quantity and a price; 0: they are something else.
std::size_t quantity_at(const std::vector<Word>& words, std::size_t first) {
  std::size_t at = first;
  const auto is = [&](auto kind) {
    const bool fits = at < words.size() && !words[at].figure && kind(words[at].text) &&
                      (at == first || are_beside(words[at - 1], words[at]));
    at += fits ? 1 : 0;
    return fits;
  };
  const auto is_counted = [](std::string_view text) {
    return text.size() > 1 && std::tolower(static_cast<unsigned char>(text.back())) == 'x' &&
           is_plain_number(text.substr(0, text.size() - 1));
  };
  if (!is(is_counted)) {
    if (!is(is_plain_number)) return 0;
    is(is_measure);
    if (!is(is_times)) return 0;
  }
  return is(is_price) ? at - first : 0;
}

}  // namespace

void join_quantities(PageText& page) {
  std::vector<std::pair<std::size_t, std::size_t>> found;  // the first word and how many there are
  for (std::size_t i = 0; i < page.words.size(); ++i) {
    const std::size_t count = quantity_at(page.words, i);
    if (count == 0) continue;
    found.emplace_back(i, count);
    i += count - 1;
  }
  if (found.size() < kQuantityRowsMin) return;
  for (auto each = found.rbegin(); each != found.rend(); ++each) {
    Word& word = page.words[each->first];
    for (std::size_t i = 1; i < each->second; ++i) {
      word.text += ' ' + page.words[each->first + i].text;
      word.box = united(word.box, page.words[each->first + i].box);
    }
    const auto next = page.words.begin() + static_cast<std::ptrdiff_t>(each->first) + 1;
    page.words.erase(next, next + static_cast<std::ptrdiff_t>(each->second) - 1);
  }
}

}  // namespace millrace::engines
