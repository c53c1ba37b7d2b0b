#include "ai/engines/host/leftovers.h"

#include <algorithm>
#include <cmath>

namespace millrace::engines::host {
namespace {

constexpr float kTornGap = 0.5F;  // of the row's height; columns lie further apart
constexpr float kSameRow = 0.3F;
constexpr std::size_t kTornMin = 2;
constexpr std::size_t kLettersMin = 6;
constexpr std::size_t kLettersPart = 50;  // one of so many

bool holds(const Box& word, const Box& letter) {
  return letter.middle_x() > word.x0 - 1 && letter.middle_x() < word.x1 + 1 && letter.y1 > word.y0 &&
         letter.y0 < word.y1;
}

bool torn_apart(const Placed& one, const Placed& next) {
  if (one.block == next.block) return false;
  const float height = std::max(one.box.height(), next.box.height());
  return std::fabs(one.box.middle_y() - next.box.middle_y()) < kSameRow * height &&
         std::fabs(next.box.x0 - one.box.x1) < kTornGap * height;
}

}  // namespace

Leftovers leftovers_of(const std::vector<Box>& letters, const std::vector<Placed>& words,
                       const std::vector<Box>& pictures) {
  Leftovers left;
  if (words.size() > kLeftoversMax || letters.size() > kLeftoversMax) return left;
  for (const Box& letter : letters) {
    const auto holds_it = [&letter](const Box& box) { return holds(box, letter); };
    const bool read = std::ranges::any_of(words, holds_it, &Placed::box);
    if (!read && std::ranges::none_of(pictures, holds_it)) ++left.letters;
  }
  for (const Placed& word : words) {
    const auto goes_on = [&word](const Placed& next) { return torn_apart(word, next); };
    if (std::ranges::any_of(words, goes_on)) ++left.torn;
  }
  return left;
}

bool worth_another_look(const Leftovers& left, std::size_t letters) {
  return left.torn >= kTornMin || left.letters >= std::max(kLettersMin, letters / kLettersPart);
}

}  // namespace millrace::engines::host
