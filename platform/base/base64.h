#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace millrace::base {

std::string base64_encode(std::string_view bytes);
// Accepts the strict RFC 4648 alphabet. Padding is optional; white space is rejected. nullopt: not base64.
std::optional<std::string> base64_decode(std::string_view text);

// True if base64_decode would accept `text`. Does not store the result.
bool is_base64(std::string_view text);

// Decodes base64 in pieces, without a buffer for the whole text. Pieces may be cut at any character. Fast
// (table, 4 → 3) and allocation-free.
class Base64Decoder {
 public:
  // Upper bound of the bytes that `decode` writes for `input_bytes` more characters.
  static constexpr std::size_t capacity(std::size_t input_bytes) { return input_bytes / 4 * 3 + 6; }
  // Writes to `out`, which must have space for `capacity(in.size())` bytes. Returns the number of bytes
  // written. nullopt: not base64.
  std::optional<std::size_t> decode(std::string_view in, char* out);
  // Decodes the rest after the last piece. nullopt: the text ended inside a group.
  std::optional<std::size_t> finish(char* out);

 private:
  unsigned char pending_[4] = {};
  std::size_t pending_count_ = 0;
  bool padded_ = false;
};

}  // namespace millrace::base
