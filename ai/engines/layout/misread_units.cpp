#include "ai/engines/layout/misread_units.h"

#include <algorithm>
#include <cctype>
#include <cstddef>

namespace millrace::engines {
namespace {

constexpr std::string_view kLikeUnits = "91", kUnits = "gl";
constexpr std::size_t kUnitTextsMin = 4;
constexpr float kUnitTextsPart = 0.85F;
// Of the height of a digit.
constexpr float kBelowDigits = 0.12F;
constexpr float kSpaceBeforeUnit = 0.4F;

bool is_decimal_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// A text without the letter of a unit that was read behind its digit as well.
std::string_view without_double(std::string_view text) {
  if (text.size() < 2) return text;
  const std::size_t which = kUnits.find(text.back());
  if (which == std::string_view::npos) return text;
  std::string_view number = text.substr(0, text.size() - 1);
  while (number.ends_with(' ')) number.remove_suffix(1);
  return number.ends_with(kLikeUnits[which]) ? number : text;
}

float digit_height(const std::vector<Box>& digits) { return digits.front().height(); }

}  // namespace

char common_last_digit(const std::vector<std::string>& texts) {
  std::size_t numbers = 0;
  std::string counted;
  for (const std::string& text : texts) {
    if (digits_in(text) == 0) continue;
    ++numbers;
    const std::string_view number = without_double(text);
    if (digits_in(number) > 1) counted += number.back();
  }
  if (numbers < kUnitTextsMin) return 0;
  for (const char digit : kLikeUnits) {
    const auto as_digit = std::ranges::count(counted, digit);
    const auto as_unit =
        std::ranges::count_if(texts, [&](const auto& text) { return ends_in_unit_like(text, digit); });
    if (as_digit == 0) continue;
    if (static_cast<float>(as_digit + as_unit) >= kUnitTextsPart * static_cast<float>(numbers)) return digit;
  }
  return 0;
}

bool ends_in_unit_like(std::string_view text, char digit) {
  return digits_in(text) > 0 && text.ends_with(unit_like(digit)) && without_double(text) == text;
}

bool ends_in_digit(std::string_view text, char digit) {
  return digits_in(text) > 1 && without_double(text).ends_with(digit);
}

char unit_like(char digit) {
  const std::size_t which = kLikeUnits.find(digit);
  return which == std::string_view::npos ? '\0' : kUnits[which];
}

bool is_apart(const std::vector<Box>& digits) {
  if (digits.size() < 2) return false;
  return digits.back().x0 - digits[digits.size() - 2].x1 > kSpaceBeforeUnit * digit_height(digits);
}

std::optional<bool> ends_in_unit(std::string_view text, const std::vector<Box>& digits,
                                 const std::vector<NumberMark>& marks) {
  const std::string_view number = without_double(text);
  if (digits.size() < 2 || digits_in(number) != digits.size() || !is_decimal_digit(number.back()))
    return std::nullopt;
  const Box& last = digits.back();
  float bottom = 0, top = 0;
  for (std::size_t i = 0; i + 1 < digits.size(); ++i) {
    bottom = std::max(bottom, digits[i].y1);
    top = std::max(top, digits[i].y0);
  }
  const float least = kBelowDigits * digit_height(digits);
  // An old-style 9 reaches below the line too, but is as high as a 1 or a 2.
  if (last.y1 - bottom > least && last.y0 - top > least) return true;
  const bool marked =
      std::ranges::any_of(marks, [&](const NumberMark& mark) { return mark.digits + 1 == digits.size(); });
  return !marked && is_apart(digits);
}

std::string with_last_as_unit(std::string_view text, bool apart) {
  const std::string_view number = without_double(text);
  std::string out(number.substr(0, number.size() - 1));
  while (out.ends_with(' ')) out.pop_back();
  if (apart) out += ' ';
  return out + unit_like(number.back());
}

}  // namespace millrace::engines
