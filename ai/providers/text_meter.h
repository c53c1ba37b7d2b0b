#pragma once
#include <cstddef>
#include <string_view>
#include <vector>

namespace millrace::providers {

// The characters of UTF-8 text that comes in pieces, found again by its bytes. It keeps an eighth of the
// text's size.
class TextMeter {
 public:
  void add(std::string_view text);
  std::size_t bytes() const { return begins_.size(); }
  std::size_t characters() const { return characters_; }
  // Before this byte; past the end: all.
  std::size_t characters_before(std::size_t byte) const;

 private:
  static constexpr std::size_t kStride = 1'024;  // bytes
  std::vector<bool> begins_;                     // by byte: a character begins there
  std::vector<std::size_t> before_;              // each stride
  std::size_t characters_ = 0;
};

}  // namespace millrace::providers
