#include "schemas/json/json_number.h"

#include <algorithm>
#include <array>
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
