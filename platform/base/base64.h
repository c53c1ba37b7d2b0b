#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace millrace::base {

std::string base64_encode(std::string_view bytes);
// Strict RFC 4648 alphabet, padding optional, ASCII white space refused; nullopt if it is not base64.
std::optional<std::string> base64_decode(std::string_view text);

// Whether base64_decode would take it; keeps nothing of it.
bool is_base64(std::string_view text);

// Decodes in place of a whole buffer in pieces: `in` may be cut anywhere. Fast (table, 4 → 3),
// allocation-free.
class Base64Decoder {
 public:
  // Upper bound of what `decode` writes for `input_bytes` more characters.
  static constexpr std::size_t capacity(std::size_t input_bytes) { return input_bytes / 4 * 3 + 6; }
  // Appends to `out` (at least `room(in.size())` free); returns bytes written, or nullopt if `in` is not
  // base64.
  std::optional<std::size_t> decode(std::string_view in, char* out);
  // The tail after the last piece; nullopt if the text was cut inside a group.
  std::optional<std::size_t> finish(char* out);

 private:
  unsigned char pending_[4] = {};
  std::size_t pending_count_ = 0;
  bool padded_ = false;
};

}  // namespace millrace::base
