#include "platform/base/bytes.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

namespace millrace::base {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t factor;
};

constexpr std::array kSizes{
    Unit{"TiB", std::int64_t{1} << 40},
    Unit{"GiB", std::int64_t{1} << 30},
    Unit{"MiB", std::int64_t{1} << 20},
    Unit{"KiB", std::int64_t{1} << 10},
    Unit{"B", 1},
};
constexpr std::array kDecimalSizes{
    Unit{"TB", 1'000'000'000'000},
    Unit{"GB", 1'000'000'000},
    Unit{"MB", 1'000'000},
    Unit{"kB", 1'000},
    Unit{"KB", 1'000},
};
constexpr std::array kDurations{
    Unit{"w", 7LL * 86'400'000}, Unit{"d", 86'400'000}, Unit{"h", 3'600'000},
    Unit{"m", 60'000},           Unit{"s", 1'000},      Unit{"ms", 1},
};

constexpr std::int64_t kSecondMs = 1'000;

template <std::size_t N>
const Unit* unit_named(const std::array<Unit, N>& units, std::string_view name) {
  for (const Unit& unit : units) {
    if (unit.name == name) return &unit;
  }
  return nullptr;
}

// Removes a number (digits only) from the front and returns it.
std::optional<std::int64_t> take_number(std::string_view& text) {
  std::int64_t value = 0;
  if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

std::string_view take_letters(std::string_view& text) {
  std::size_t size = 0;
  while (size < text.size() && (text[size] < '0' || text[size] > '9')) ++size;
  const std::string_view letters = text.substr(0, size);
  text.remove_prefix(size);
  return letters;
}

std::optional<std::int64_t> times(std::int64_t number, std::int64_t factor) {
  if (number > std::numeric_limits<std::int64_t>::max() / factor) return std::nullopt;
  return number * factor;
}

}  // namespace

std::optional<std::int64_t> parse_bytes(std::string_view text) {
  const auto number = take_number(text);
  if (!number) return std::nullopt;
  if (text.empty()) return number;
  const Unit* unit = unit_named(kSizes, text);
  if (unit == nullptr) unit = unit_named(kDecimalSizes, text);
  if (unit == nullptr) return std::nullopt;
  return times(*number, unit->factor);
}

std::string format_bytes(std::int64_t bytes) {
  for (const Unit& unit : kSizes) {
    if (bytes != 0 && bytes % unit.factor == 0)
      return std::to_string(bytes / unit.factor) + std::string(unit.name);
  }
  return "0B";
}

std::string short_bytes(std::int64_t bytes) {
  constexpr std::int64_t kWholeFrom = 10;
  for (const Unit& unit : kSizes) {
    if (bytes < unit.factor || unit.factor == 1) continue;
    const std::int64_t tenths = bytes / unit.factor * 10 + bytes % unit.factor * 10 / unit.factor;
    std::string out = std::to_string(tenths / 10);
    if (tenths < kWholeFrom * 10 && tenths % 10 != 0) out += "." + std::to_string(tenths % 10);
    return out + std::string(unit.name);
  }
  return std::to_string(bytes) + "B";
}

std::optional<std::chrono::milliseconds> parse_duration(std::string_view text) {
  if (text == "0") return std::chrono::milliseconds(0);
  if (text.empty()) return std::nullopt;
  std::int64_t total = 0;
  std::int64_t smallest = std::numeric_limits<std::int64_t>::max();
  while (!text.empty()) {
    const auto number = take_number(text);
    const Unit* unit = number ? unit_named(kDurations, take_letters(text)) : nullptr;
    if (unit == nullptr || unit->factor >= smallest) return std::nullopt;
    smallest = unit->factor;
    const auto part = times(*number, unit->factor);
    if (!part || *part > std::numeric_limits<std::int64_t>::max() - total) return std::nullopt;
    total += *part;
  }
  return std::chrono::milliseconds(total);
}

std::string format_duration(std::chrono::milliseconds duration) {
  std::int64_t left = duration.count();
  if (left == 0) return "0s";
  std::string out = left < 0 ? "-" : "";
  left = left < 0 ? -left : left;
  for (const Unit& unit : kDurations) {
    if (unit.name == "w" || left < unit.factor) continue;  // days are easier to read than weeks
    out += std::to_string(left / unit.factor) + std::string(unit.name);
    left %= unit.factor;
  }
  return out;
}

std::string short_duration(std::chrono::milliseconds duration) {
  for (const Unit& unit : kDurations) {
    if (unit.name == "w" || duration.count() < 2 * unit.factor) continue;
    if (unit.factor < kSecondMs) break;
    return std::to_string(duration.count() / unit.factor) + std::string(unit.name);
  }
  return std::to_string(std::max<std::int64_t>(0, duration.count() / kSecondMs)) + "s";
}

}  // namespace millrace::base
