#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace millrace::base {

// Parses "64MiB", "512KiB", "10MB" (decimal) or "4096" (bytes). nullopt: not a size, or too large.
std::optional<std::int64_t> parse_bytes(std::string_view text);
// Formats in the largest binary unit that divides `bytes`: "64MiB", "1536KiB", "100B".
std::string format_bytes(std::int64_t bytes);
// Formats a measured size for people, in the largest unit that it reaches: "100B", "1.5KiB", "64MiB". Below
// 10, one decimal place is shown. The rest is cut off, not rounded.
std::string short_bytes(std::int64_t bytes);

// Parses "250ms", "30s", "10m", "12h", "90d", "1w" and sums in descending order such as "7d3h4s". Only "0"
// needs no unit.
std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);
// Formats in the same form: "1h30m", "250ms", "0s".
std::string format_duration(std::chrono::milliseconds duration);
// Formats an age for people, in whole units, of which there are at least two: "119s", "2m", "2h", "2d".
std::string short_duration(std::chrono::milliseconds duration);

}  // namespace millrace::base
