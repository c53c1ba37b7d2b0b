#include "schemas/json_number.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string>

namespace millrace::schemas {
namespace {

// Takes the digits at the front off: how many there were.
std::size_t take_digits(std::string_view& text) {
  const std::size_t count = std::min(text.find_first_not_of("0123456789"), text.size());
  text.remove_prefix(count);
  return count;
}

bool take(std::string_view& text, std::string_view any_of) {
  const bool there = !text.empty() && any_of.find(text.front()) != std::string_view::npos;
  if (there) text.remove_prefix(1);
  return there;
}

// RFC 8259 §6.
bool is_number(std::string_view text) {
  take(text, "-");
  const bool zero = text.starts_with('0');
  const std::size_t whole = take_digits(text);
  if (whole == 0 || (zero && whole > 1)) return false;
  if (take(text, ".") && take_digits(text) == 0) return false;
  if (take(text, "eE")) {
    take(text, "+-");
    if (take_digits(text) == 0) return false;
  }
  return text.empty();
}

}  // namespace

std::optional<double> json_number(std::string_view text) {
  text = text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
  if (!is_number(text)) return std::nullopt;
  constexpr double kLargest = std::numeric_limits<double>::max();
  return std::clamp(std::strtod(std::string(text).c_str(), nullptr), -kLargest, kLargest);
}

}  // namespace millrace::schemas
