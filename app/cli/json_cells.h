#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

// Helpers to print JSON of the gateway for people.
namespace millrace::cli {

// A member's string; empty if it is absent or not a string.
std::string text_at(const nlohmann::json& of, const char* key);
// A member with Unix seconds as "2026-05-04T08:30:00Z"; "-" if it is absent or not an integer.
std::string time_at(const nlohmann::json& of, const char* key);
// JSON with text of this host, such as paths: bytes that are not UTF-8 become U+FFFD.
std::string local_json(const nlohmann::json& value);
// A string unchanged; any other value as JSON.
std::string plain(const nlohmann::json& value);
// Text of a client as one line that cannot move the cursor. Control characters, line and paragraph ends, and
// bidirectional formatting characters become spaces. Text longer than `bytes_max` is cut at a character
// boundary and gets "…".
std::string one_line(std::string_view utf8, std::size_t bytes_max = std::string_view::npos);
// The same; "-" for an empty text.
std::string or_dash(const std::string& text);
// Pads with spaces to `width` bytes. Longer text stays unchanged.
std::string padded(std::string text, std::size_t width);

// So many rows are counted to say how many a list leaves out.
inline constexpr std::size_t kRowsCountedMax = 1'000;
// "50 of 230 jobs are shown; --limit 230 shows all", and without `all` "50 of more than 1000 jobs …; --limit
// shows more" and `otherwise`. `seen`: how many there are at least.
std::string more_rows_text(std::string_view rows, std::size_t shown, std::size_t seen, bool all,
                           std::string_view otherwise = {});

}  // namespace millrace::cli
