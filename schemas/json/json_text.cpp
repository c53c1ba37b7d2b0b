#include "schemas/json/json_text.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace millrace::schemas {
namespace {

void append_control(std::string& out, char c) {
  constexpr std::string_view kHex = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  out += "\\u00";
  out += kHex[byte >> 4];
  out += kHex[byte & 15];
}

constexpr std::array<bool, 256> plain_bytes() {
  std::array<bool, 256> plain{};
  for (std::size_t byte = 0x20; byte < plain.size(); ++byte) plain[byte] = byte != '"' && byte != '\\';
  return plain;
}
constexpr std::array<bool, 256> kPlain = plain_bytes();

// Sixteen bytes, compared in one instruction.
using Bytes = unsigned char __attribute__((vector_size(16)));

bool needs_escape(const char* sixteen) {
  Bytes bytes;
  std::memcpy(&bytes, sixteen, sizeof bytes);
  const auto marked = (bytes < 0x20) | (bytes == '"') | (bytes == '\\');
  std::array<std::uint64_t, 2> halves{};
  std::memcpy(halves.data(), &marked, sizeof halves);
  return (halves[0] | halves[1]) != 0;
}

// The same for fewer than sixteen bytes.
bool few_need_escape(const char* text, std::size_t count) {
  std::array<char, sizeof(Bytes)> buffer{};
  buffer.fill(' ');
  std::memcpy(buffer.data(), text, count);
  return needs_escape(buffer.data());
}

// The number of leading bytes that need no escape.
std::size_t plain_run(std::string_view text) {
  std::size_t run = 0;
  while (text.size() - run >= sizeof(Bytes) && !needs_escape(text.data() + run)) run += sizeof(Bytes);
  const std::size_t left = text.size() - run;
  if (left == 0 || (left < sizeof(Bytes) && !few_need_escape(text.data() + run, left))) return text.size();
  while (run < text.size() && kPlain[static_cast<unsigned char>(text[run])]) ++run;
  return run;
}

}  // namespace

std::string_view cut_text(std::string_view utf8, std::size_t bytes_max) {
  if (utf8.size() <= bytes_max) return utf8;
  while (bytes_max > 0 && (static_cast<unsigned char>(utf8[bytes_max]) & 0xC0U) == 0x80U) --bytes_max;
  return utf8.substr(0, bytes_max);
}

std::size_t characters(std::string_view utf8) {
  return static_cast<std::size_t>(std::count_if(
      utf8.begin(), utf8.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const std::size_t run = plain_run(text);
    out.append(text.substr(0, run));
    text.remove_prefix(run);
    if (text.empty()) break;
    switch (text.front()) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        append_control(out, text.front());
    }
    text.remove_prefix(1);
  }
  out += '"';
}

void JsonObject::key(std::string_view name) {
  if (text_.size() > 1) text_ += ',';
  append_json_string(text_, name);
  text_ += ':';
}

JsonObject& JsonObject::member(std::string_view name, std::string_view value) {
  key(name);
  append_json_string(text_, value);
  return *this;
}

JsonObject& JsonObject::number(std::string_view name, std::int64_t value) {
  key(name);
  text_ += std::to_string(value);
  return *this;
}

JsonObject& JsonObject::flag(std::string_view name, bool value) {
  key(name);
  text_ += value ? "true" : "false";
  return *this;
}

JsonObject& JsonObject::raw(std::string_view name, std::string_view json) {
  key(name);
  text_.append(json);
  return *this;
}

}  // namespace millrace::schemas
