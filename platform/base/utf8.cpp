#include "platform/base/utf8.h"

#include <algorithm>

#include <simdjson.h>

namespace millrace::base {
namespace {

unsigned utf8_byte(std::string_view text, std::size_t at) { return static_cast<unsigned char>(text[at]); }

}  // namespace

bool is_utf8(std::string_view text) { return simdjson::validate_utf8(text.data(), text.size()); }

// The range of the second byte excludes overlong forms, surrogates and values above U+10FFFF.
Utf8Character utf8_character(std::string_view text) {
  const unsigned lead = utf8_byte(text, 0);
  if (lead < 0x80) return {};
  if (lead < 0xC2 || lead > 0xF4) return {1, 0};
  Utf8Character read{1, lead < 0xE0 ? 2u : lead < 0xF0 ? 3u : 4u};
  unsigned least = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  unsigned most = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  for (; read.size < read.needed && read.size < text.size(); ++read.size) {
    const unsigned byte = utf8_byte(text, read.size);
    if (byte < least || byte > most) break;
    least = 0x80;
    most = 0xBF;
  }
  return read;
}

std::size_t incomplete_utf8(std::string_view text) {
  constexpr std::size_t kTailMax = 3;
  for (std::size_t size = 1; size <= std::min(kTailMax, text.size()); ++size) {
    const std::string_view tail = text.substr(text.size() - size);
    if ((utf8_byte(tail, 0) & 0xC0) == 0x80) continue;
    const Utf8Character last = utf8_character(tail);
    return last.size == size && last.size < last.needed ? size : 0;
  }
  return 0;
}

}  // namespace millrace::base
