#include "ai/engines/layout/code_points.h"

namespace millrace::engines {

std::vector<std::uint32_t> code_points(std::string_view text) {
  std::vector<std::uint32_t> codes;
  codes.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i++]);
    const unsigned more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : first >= 0xC0 ? 1 : 0;
    std::uint32_t code = more == 0 ? first : first & (0x3FU >> more);
    for (unsigned k = 0; k < more && i < text.size(); ++k) {
      code = (code << 6) | (static_cast<unsigned char>(text[i++]) & 0x3FU);
    }
    codes.push_back(code);
  }
  return codes;
}

}  // namespace millrace::engines
