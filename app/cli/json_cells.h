#pragma once
#include <string>

#include <nlohmann/json_fwd.hpp>

// JSON of the gateway's as a person reads it.
namespace millrace::cli {

// The text of a member; empty: there is none, or it is no text.
std::string text_at(const nlohmann::json& of, const char* key);
// Text as it is, anything else as JSON.
std::string plain(const nlohmann::json& value);
// With spaces to `width` bytes; what is longer stays.
std::string padded(std::string text, std::size_t width);

}  // namespace millrace::cli
