#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

namespace millrace::engines {

// The code points of UTF-8. Bytes that are none become codes of no meaning.
std::vector<std::uint32_t> code_points(std::string_view text);

inline bool between(std::uint32_t code, std::uint32_t first, std::uint32_t last) {
  return code >= first && code <= last;
}

}  // namespace millrace::engines
