#include "ai/engines/layout/misread_units.h"

#include <algorithm>
#include <array>
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

namespace {

constexpr std::string_view kAfterNumber = "0123456789.,";

// Where the unit of a number begins.
std::size_t unit_at(std::string_view text) {
  const std::size_t at = text.find_first_not_of(kAfterNumber);
  return at == text.npos ? text.size() : at;
}

// The unit without what follows it: a denominator or a sign.
std::string_view numerator(std::string_view unit) { return unit.substr(0, unit.find_first_of("/.,;:)")); }

}  // namespace

bool starts_with_digit(std::string_view text) { return !text.empty() && is_decimal_digit(text.front()); }

bool may_be_micro(std::string_view text) {
  constexpr std::array<std::string_view, 10> kWithMicro{"g", "m", "mol", "l",  "L",
                                                        "F", "V", "A",   "Sv", "kat"};
  const std::string_view unit = numerator(text.substr(unit_at(text)));
  if (unit.size() < 2 || std::string_view("puy").find(unit.front()) == unit.npos) return false;
  if (unit == "um" && !starts_with_digit(text)) return false;  // a German word
  return std::ranges::find(kWithMicro, unit.substr(1)) != kWithMicro.end();
}

std::string with_micro(std::string text) {
  const std::size_t at = unit_at(text);
  return text.replace(at, 1, "µ");
}

bool may_be_ohm(std::string_view text) {
  std::string_view unit = numerator(text.substr(unit_at(text)));
  if (unit.size() == 2 && std::string_view("kMmG").find(unit.front()) != unit.npos) unit.remove_prefix(1);
  return unit == "Q" || unit == "O";
}

std::string with_ohm(std::string text) { return text.replace(text.find_last_of("QO"), 1, "Ω"); }

std::string with_powers_of_ten(std::string text) {
  struct Power {
    std::string_view read, meant;
  };
  constexpr std::array<Power, 6> kPowers{{{"109/L", "10⁹/L"},
                                          {"109/l", "10⁹/l"},
                                          {"10°/L", "10⁹/L"},
                                          {"10°/l", "10⁹/l"},
                                          {"1012/L", "10¹²/L"},
                                          {"1012/l", "10¹²/l"}}};
  for (const Power& power : kPowers) {
    const std::size_t at = text.find(power.read);
    if (at == text.npos || (at > 0 && kAfterNumber.find(text[at - 1]) != kAfterNumber.npos)) continue;
    return text.replace(at, power.read.size(), power.meant);
  }
  return text;
}

}  // namespace millrace::engines
