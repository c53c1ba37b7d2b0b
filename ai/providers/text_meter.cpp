#include "ai/providers/text_meter.h"

#include <algorithm>

namespace millrace::providers {

void TextMeter::add(std::string_view text) {
  for (const char byte : text) {
    if (begins_.size() % kStride == 0) before_.push_back(characters_);
    const bool begins = (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;
    begins_.push_back(begins);
    if (begins) ++characters_;
  }
}

std::size_t TextMeter::characters_before(std::size_t byte) const {
  if (byte >= begins_.size()) return characters_;
  const std::size_t stride = byte / kStride;
  const auto from = begins_.begin() + static_cast<std::ptrdiff_t>(stride * kStride);
  const auto to = begins_.begin() + static_cast<std::ptrdiff_t>(byte);
  return before_[stride] + static_cast<std::size_t>(std::count(from, to, true));
}

}  // namespace millrace::providers
