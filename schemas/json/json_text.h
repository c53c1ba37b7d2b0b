#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace millrace::schemas {

std::size_t characters(std::string_view utf8);  // code points

// `utf8` of at most `bytes_max` bytes, cut between characters.
std::string_view cut_text(std::string_view utf8, std::size_t bytes_max);

// Appends `text` (UTF-8) as a JSON string with quotes.
void append_json_string(std::string& out, std::string_view text);

// Writes a JSON object directly, where building a tree would be too expensive. Members appear in the order of
// the calls. Names can be any UTF-8, like values.
class JsonObject {
 public:
  JsonObject() { text_ += '{'; }
  // Reserves memory for about `bytes` of text.
  explicit JsonObject(std::size_t bytes) {
    text_.reserve(bytes);
    text_ += '{';
  }
  JsonObject& member(std::string_view name, std::string_view value);
  JsonObject& member(std::string_view name, const char* value) {
    return member(name, std::string_view(value));
  }
  JsonObject& number(std::string_view name, std::int64_t value);
  JsonObject& flag(std::string_view name, bool value);
  JsonObject& raw(std::string_view name, std::string_view json);  // `json` is written unchanged
  // Writes a member's name and returns the text; the caller must then append the member's value as JSON.
  std::string& value(std::string_view name) {
    key(name);
    return text_;
  }
  std::string finish() {
    text_ += '}';
    return std::move(text_);
  }

 private:
  void key(std::string_view name);
  std::string text_;
};

}  // namespace millrace::schemas
