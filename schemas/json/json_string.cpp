#include "schemas/json/json_string.h"

#include <cstdint>
#include <cstring>

namespace millrace::schemas {
namespace {

bool escaped(const char* begin, const char* at) {
  std::size_t slashes = 0;
  while (at - 1 - slashes >= begin && *(at - 1 - slashes) == '\\') ++slashes;
  return slashes % 2 == 1;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// The value of four hexadecimal digits at `at`, or -1.
std::int32_t code_unit(const char* at, const char* end) {
  if (end - at < 4) return -1;
  std::int32_t unit = 0;
  for (int i = 0; i < 4; ++i) {
    const int digit = hex_digit(at[i]);
    if (digit < 0) return -1;
    unit = unit * 16 + digit;
  }
  return unit;
}

char* put_utf8(char* out, std::int32_t c) {
  const auto byte = [](std::int32_t v) { return static_cast<char>(static_cast<unsigned char>(v)); };
  if (c < 0x80) {
    *out++ = byte(c);
  } else if (c < 0x800) {
    *out++ = byte(0xC0 | c >> 6);
    *out++ = byte(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    *out++ = byte(0xE0 | c >> 12);
    *out++ = byte(0x80 | (c >> 6 & 0x3F));
    *out++ = byte(0x80 | (c & 0x3F));
  } else {
    *out++ = byte(0xF0 | c >> 18);
    *out++ = byte(0x80 | (c >> 12 & 0x3F));
    *out++ = byte(0x80 | (c >> 6 & 0x3F));
    *out++ = byte(0x80 | (c & 0x3F));
  }
  return out;
}

// Parses the code point after `\u` and moves `in` past it. -1: not a valid character.
std::int32_t code_point(const char*& in, const char* end) {
  const std::int32_t first = code_unit(in, end);
  if (first < 0) return -1;
  in += 4;
  if (first < 0xD800 || first > 0xDFFF) return first;
  if (first > 0xDBFF || end - in < 6 || in[0] != '\\' || in[1] != 'u') return -1;
  const std::int32_t second = code_unit(in + 2, end);
  if (second < 0xDC00 || second > 0xDFFF) return -1;
  in += 6;
  return 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
}

char simple_escape(char c) {
  switch (c) {
    case '"':
    case '\\':
    case '/':
      return c;
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    default:
      return '\0';
  }
}

}  // namespace

std::optional<std::string_view> json_string_at(const char* begin, const char* end) {
  for (const char* at = begin; at < end; ++at) {
    at = static_cast<const char*>(std::memchr(at, '"', static_cast<std::size_t>(end - at)));
    if (at == nullptr) break;
    if (!escaped(begin, at)) return std::string_view(begin, static_cast<std::size_t>(at - begin));
  }
  return std::nullopt;
}

bool has_good_escapes(std::string_view inside) {
  const char* in = inside.data();
  const char* const end = in + inside.size();
  while (in < end) {
    const auto* slash = static_cast<const char*>(std::memchr(in, '\\', static_cast<std::size_t>(end - in)));
    if (slash == nullptr) break;
    if (end - slash < 2) return false;
    in = slash + 2;
    if (slash[1] == 'u' ? code_point(in, end) < 0 : simple_escape(slash[1]) == '\0') return false;
  }
  return true;
}

std::optional<std::string_view> unescape_in_place(char* begin, std::size_t size) {
  const char* in = begin;
  const char* const end = begin + size;
  char* out = begin;
  while (in < end) {
    const auto left = static_cast<std::size_t>(end - in);
    const auto* slash = static_cast<const char*>(std::memchr(in, '\\', left));
    const std::size_t plain = slash == nullptr ? left : static_cast<std::size_t>(slash - in);
    if (out != in) std::memmove(out, in, plain);
    out += plain;
    in += plain;
    if (slash == nullptr) break;
    if (end - in < 2) return std::nullopt;
    const char kind = in[1];
    in += 2;
    if (kind == 'u') {
      const std::int32_t c = code_point(in, end);
      if (c < 0) return std::nullopt;
      out = put_utf8(out, c);
    } else {
      const char c = simple_escape(kind);
      if (c == '\0') return std::nullopt;
      *out++ = c;
    }
  }
  return std::string_view(begin, static_cast<std::size_t>(out - begin));
}

}  // namespace millrace::schemas
