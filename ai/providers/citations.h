#pragma once
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "ai/providers/json_access.h"

namespace millrace::providers {

inline constexpr std::size_t kCitationsMax = 1'000;  // of one choice; more are left out
inline constexpr std::size_t kCitedUrlMax = 8192;    // bytes; a longer one is left out
inline constexpr std::size_t kCitedTitleMax = 1024;  // bytes; a longer one is cut

// Whether a source can be told of at all: an http(s) URL within its bound.
bool is_citable(std::string_view url);

// What one choice of an answer cites, as OpenAI says it: `annotations` of its message, or of its deltas.
class Citations {
 public:
  // Of the characters from `begin` to before `end` of the content. Said before, or no http(s) URL: nothing.
  void add(std::size_t begin, std::size_t end, std::string_view url, std::string_view title);
  bool empty() const { return known_.empty(); }
  // Puts what is new into the other members of a message or delta, if there is anything.
  void add_to(Json& extra);

 private:
  std::set<std::tuple<std::size_t, std::size_t, std::string>> known_;
  Json fresh_ = Json::array();
};

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
