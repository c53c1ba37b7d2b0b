#pragma once
#include <array>
#include <string_view>

#include <strings.h>

// The character classes of RFC 9110 §5.6 and RFC 3986 that the front end checks, and the comparison of names.
namespace millrace::front {

using CharClass = std::array<bool, 256>;

consteval CharClass char_class(std::string_view punctuation) {
  CharClass set{};
  for (unsigned char c = '0'; c <= '9'; ++c) set[c] = true;
  for (unsigned char c = 'a'; c <= 'z'; ++c) set[c] = true;
  for (unsigned char c = 'A'; c <= 'Z'; ++c) set[c] = true;
  for (char c : punctuation) set[static_cast<unsigned char>(c)] = true;
  return set;
}

consteval CharClass value_class() {
  CharClass set{};
  set['\t'] = true;
  for (std::size_t c = 0x20; c < 256; ++c) set[c] = c != 0x7f;
  return set;
}

inline constexpr CharClass kTokenChars = char_class("!#$%&'*+-.^_`|~");
inline constexpr CharClass kTargetChars = char_class("-._~!$&'()*+,;=:@/?%[]|{}^`\"<>\\");
inline constexpr CharClass kAuthorityChars = char_class("-._~!$&'()*+,;=:%[]");
inline constexpr CharClass kValueChars = value_class();  // HTAB, SP, visible, obs-text

inline bool all_in(const CharClass& set, std::string_view text) {
  for (char c : text) {
    if (!set[static_cast<unsigned char>(c)]) return false;
  }
  return true;
}

inline bool is_token(std::string_view text) { return !text.empty() && all_in(kTokenChars, text); }

// Whether two names of headers, hosts or schemes are the same.
inline bool same_name(std::string_view a, std::string_view b) {
  return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

// Without leading and trailing spaces and tabs.
inline std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

}  // namespace millrace::front
