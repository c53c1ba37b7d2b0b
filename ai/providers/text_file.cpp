#include "ai/providers/text_file.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "platform/base/utf8.h"

namespace millrace::providers {
namespace {

constexpr std::string_view kUtf8Mark = "\xEF\xBB\xBF", kLittleMark = "\xFF\xFE", kBigMark = "\xFE\xFF";
constexpr std::array<std::string_view, 3> kUtf8Names{"", "utf-8", "utf8"};
constexpr std::array<std::string_view, 7> kLatinNames{"iso-8859-1", "iso8859-1",    "latin1", "latin-1",
                                                      "us-ascii",   "windows-1252", "cp1252"};

// Windows-1252 from 0x80 to 0x9F; five bytes have no letter and stay control characters.
constexpr std::array<std::uint16_t, 32> kWindowsLetters{
    0x20AC, 0x0081, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160,
    0x2039, 0x0152, 0x008D, 0x017D, 0x008F, 0x0090, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022,
    0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x009D, 0x017E, 0x0178};

unsigned byte_at(std::string_view bytes, std::size_t at) { return static_cast<unsigned char>(bytes[at]); }

void append_character(std::string& out, std::uint32_t code) {
  const auto add = [&](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code < 0x80) return add(code);
  if (code < 0x800) {
    add(0xC0U | code >> 6U);
  } else {
    if (code < 0x10000) {
      add(0xE0U | code >> 12U);
    } else {
      add(0xF0U | code >> 18U);
      add(0x80U | (code >> 12U & 0x3FU));
    }
    add(0x80U | (code >> 6U & 0x3FU));
  }
  add(0x80U | (code & 0x3FU));
}

std::optional<std::string> of_utf16(std::string_view bytes, bool is_big) {
  if (bytes.size() % 2 != 0) return std::nullopt;
  const auto unit = [&](std::size_t at) {
    return byte_at(bytes, at + (is_big ? 0 : 1)) << 8U | byte_at(bytes, at + (is_big ? 1 : 0));
  };
  std::string out;
  out.reserve(bytes.size());
  for (std::size_t at = 0; at < bytes.size(); at += 2) {
    std::uint32_t code = unit(at);
    if (code >= 0xDC00 && code <= 0xDFFF) return std::nullopt;
    if (code >= 0xD800 && code <= 0xDBFF) {
      at += 2;
      if (at >= bytes.size() || unit(at) < 0xDC00 || unit(at) > 0xDFFF) return std::nullopt;
      code = 0x10000 + ((code - 0xD800) << 10U) + (unit(at) - 0xDC00);
    }
    append_character(out, code);
  }
  return out;
}

std::string of_latin(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size() + bytes.size() / 8);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    const unsigned byte = byte_at(bytes, at);
    const bool is_windows = byte >= 0x80 && byte < 0xA0;
    append_character(out, is_windows ? kWindowsLetters[byte - 0x80] : byte);
  }
  return out;
}

template <std::size_t kCount>
bool is_one_of(const std::array<std::string_view, kCount>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

std::optional<std::string> utf8_text(std::string_view bytes, std::string_view charset) {
  if (bytes.starts_with(kLittleMark)) return of_utf16(bytes.substr(kLittleMark.size()), false);
  if (bytes.starts_with(kBigMark)) return of_utf16(bytes.substr(kBigMark.size()), true);
  const bool has_mark = bytes.starts_with(kUtf8Mark);
  if (has_mark) bytes.remove_prefix(kUtf8Mark.size());
  if (has_mark || is_one_of(kUtf8Names, charset))
    return base::is_utf8(bytes) ? std::optional(std::string(bytes)) : std::nullopt;
  if (charset.starts_with("utf-16")) return of_utf16(bytes, charset != "utf-16le");
  return is_one_of(kLatinNames, charset) ? std::optional(of_latin(bytes)) : std::nullopt;
}

}  // namespace millrace::providers
