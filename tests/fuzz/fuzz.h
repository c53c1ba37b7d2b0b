#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

// Support for the fuzz targets. A target defines LLVMFuzzerTestOneInput, which reads one input and checks its
// rules.
namespace millrace::fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// A rule of the target. If it does not hold, the input is a finding.
inline void require(bool holds, const char* rule) {
  if (holds) return;
  std::fprintf(stderr, "\nRule broken: %s\n", rule);
  std::abort();
}

// Cuts the input at a place that depends on its content, so that a finding can be reproduced.
inline std::pair<std::string_view, std::string_view> two_pieces(std::string_view text) {
  std::size_t sum = 0;
  for (const char c : text) sum = sum * 31 + static_cast<unsigned char>(c);
  const std::size_t at = sum % (text.size() + 1);
  return {text.substr(0, at), text.substr(at)};
}

// Removes the first line, without its LF, from the text.
inline std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

}  // namespace millrace::fuzz
