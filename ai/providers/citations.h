#pragma once
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "ai/providers/json_access.h"

namespace millrace::providers {

inline constexpr std::size_t kCitationsMax = 1'000;  // of one choice; further ones are left out
inline constexpr std::size_t kCitedUrlMax = 8192;    // bytes; a longer URL is left out
inline constexpr std::size_t kCitedTitleMax = 1024;  // bytes; a longer title is cut

// True if the source can be cited: an http(s) URL within the bound.
bool is_citable(std::string_view url);

// The citations of one choice, in OpenAI's format: `annotations` of its message or its deltas.
class Citations {
 public:
  // Adds a citation for the characters from `begin` to before `end` of the content. Ignores duplicates and
  // URLs that are not citable.
  void add(std::size_t begin, std::size_t end, std::string_view url, std::string_view title);
  bool empty() const { return known_.empty(); }
  // Adds the new citations, if any, to the other members of a message or delta.
  void add_to(Json& extra);

 private:
  std::set<std::tuple<std::size_t, std::size_t, std::string>> known_;
  Json fresh_ = Json::array();
};

// Moves the annotations of a message or a delta (`extra`) by so many characters of earlier content.
void move_citations(Json& extra, std::size_t characters);

// Maps byte offsets to character offsets in UTF-8 text that arrives in pieces. Uses an eighth of the text's
// size in memory.
class CharacterIndex {
 public:
  void add(std::string_view text);
  std::size_t bytes() const { return begins_.size(); }
  std::size_t characters() const { return characters_; }
  // Characters before this byte; all, if it is beyond the end.
  std::size_t characters_before(std::size_t byte) const;

 private:
  static constexpr std::size_t kStride = 1'024;  // bytes
  std::vector<bool> begins_;                     // per byte: a character begins there
  std::vector<std::size_t> before_;              // per stride: the characters before it
  std::size_t characters_ = 0;
};

}  // namespace millrace::providers
