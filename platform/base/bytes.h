#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace millrace::base {

// "64MiB", "512KiB", "10MB" (decimal), "4096" (bytes); nullopt if it is not a size or does not fit.
std::optional<std::int64_t> parse_bytes(std::string_view text);
// The largest binary unit that divides it: "64MiB", "1536KiB", "100B".
std::string format_bytes(std::int64_t bytes);
// What was measured, as a person reads it, in the largest unit that it reaches: "100B", "1.5KiB", "64MiB"; a
// digit behind the point below 10, and what is behind that is cut off.
std::string short_bytes(std::int64_t bytes);

// "250ms", "30s", "10m", "12h", "90d", "1w" and sums in falling order such as "7d3h4s"; "0" alone needs no
// unit.
std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);
// The same form back: "1h30m", "250ms", "0s".
std::string format_duration(std::chrono::milliseconds duration);
// An age, as a person reads it, in whole units of which there are two at least: "119s", "2m", "2h", "2d".
std::string short_duration(std::chrono::milliseconds duration);

}  // namespace millrace::base
