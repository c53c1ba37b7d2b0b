#pragma once
#include <string>
#include <utility>

namespace millrace::base {

// A secret text (security.md §7): it cannot be formatted, compared, logged or serialised, only revealed,
// which is done where it goes on a wire and nowhere else.
class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string text) : text_(std::move(text)) {}

  bool empty() const { return text_.empty(); }
  const std::string& reveal() const { return text_; }

  template <class Stream>
  friend Stream& operator<<(Stream&, const Secret&) = delete;

 private:
  std::string text_;
};

}  // namespace millrace::base
