#include "schemas/json/json_number.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>

#include "schemas/json/json_string.h"

namespace millrace::schemas {
namespace {

// Removes the leading digits and returns their number.
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

bool keeps_value(std::string_view number) {
  const std::string text(number);
  const double nearest = std::strtod(text.c_str(), nullptr);
  if (!std::isfinite(nearest)) return false;
  if (text.find_first_of(".eE") != std::string::npos) return true;
  std::int64_t whole = 0;
  std::uint64_t whole_unsigned = 0;
  const char* const end = text.data() + text.size();
  if (std::from_chars(text.data(), end, whole).ec == std::errc()) return true;
  if (std::from_chars(text.data(), end, whole_unsigned).ec == std::errc()) return true;
  constexpr std::size_t kDoubleDigitsMax = 400;  // and a sign
  std::array<char, kDoubleDigitsMax> digits{};
  const auto [last, failed] =
      std::to_chars(digits.data(), digits.data() + digits.size(), nearest, std::chars_format::fixed, 0);
  return failed == std::errc() && std::string_view(digits.data(), last) == text;
}

namespace {

enum class Byte : std::uint8_t { kWord, kSpace, kSign, kQuote };

constexpr std::array<Byte, 256> byte_kinds() {
  std::array<Byte, 256> kinds{};
  for (const char c : {' ', '\t', '\n', '\r'}) kinds[static_cast<unsigned char>(c)] = Byte::kSpace;
  for (const char c : {'{', '}', '[', ']', ',', ':'}) kinds[static_cast<unsigned char>(c)] = Byte::kSign;
  kinds['"'] = Byte::kQuote;
  return kinds;
}
constexpr std::array<Byte, 256> kByteKinds = byte_kinds();

}  // namespace

bool more_json_tokens_than(std::size_t max, std::string_view text) {
  const char* at = text.data();
  const char* const end = at + text.size();
  Byte before = Byte::kSpace;
  for (std::size_t tokens = 0; tokens <= max;) {
    if (at == end) return false;
    const Byte kind = kByteKinds[static_cast<unsigned char>(*at++)];
    if (kind != Byte::kSpace && (kind != Byte::kWord || before != Byte::kWord)) ++tokens;
    before = kind;
    if (at[-1] == '\\' && at != end) ++at;  // simdjson ignores an escaped quote, even outside of strings
    if (kind != Byte::kQuote) continue;
    const auto inside = json_string_at(at, end);
    if (!inside) return tokens > max;
    at = inside->data() + inside->size() + 1;
  }
  return true;
}

}  // namespace millrace::schemas
