#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

// JSON of the gateway's as a person reads it.
namespace millrace::cli {

// The text of a member; empty: there is none, or it is no text.
std::string text_at(const nlohmann::json& of, const char* key);
// Text as it is, anything else as JSON.
std::string plain(const nlohmann::json& value);
// A client's text as one line that moves no cursor: control characters, ends of lines and paragraphs, and
// what turns the direction of writing become spaces. What is longer than `bytes_max` is cut between
// characters, with "…" behind.
std::string one_line(std::string_view utf8, std::size_t bytes_max = std::string_view::npos);
// The same of a text that may be empty: then "-".
std::string or_dash(const std::string& text);
// With spaces to `width` bytes; what is longer stays.
std::string padded(std::string text, std::size_t width);

}  // namespace millrace::cli
