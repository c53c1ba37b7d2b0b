#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace millrace::schemas {

std::size_t characters(std::string_view utf8);  // code points

// Appends `text` (UTF-8) as a JSON string with its quotes.
void append_json_string(std::string& out, std::string_view text);

// A flat way to write JSON where building a tree would cost more than the request may: objects only, members
// in the order of the calls. Names are written as they are. REQUIRES: nothing in them needs an escape.
class JsonObject {
 public:
  JsonObject() { text_ += '{'; }
  // With room for about `bytes` of text.
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
  JsonObject& raw(std::string_view name, std::string_view json);  // JSON as it is
  // The text so far with the name of a member: its value, JSON, is to be appended next.
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
