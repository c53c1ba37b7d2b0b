#include "ai/engines/layout/leaders.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "schemas/json/json_text.h"

namespace millrace::engines {
namespace {

constexpr std::array<std::string_view, 6> kDots{".", "·", "․", "‥", "…", "⋅"};

// The length of the dot that begins at text[at]; 0: none does.
std::size_t dot_length(std::string_view text, std::size_t at) {
  const auto dot = std::find_if(kDots.begin(), kDots.end(),
                                [&](std::string_view each) { return text.substr(at).starts_with(each); });
  return dot == kDots.end() ? 0 : dot->size();
}

// The bytes of the leader that begins at text[at]; 0: none does.
std::size_t leader_length(std::string_view text, std::size_t at) {
  std::size_t end = at, dots = 0;
  for (std::size_t length = 0; end < text.size() && (length = dot_length(text, end)) > 0; ++dots)
    end += length;
  return dots >= kLeaderMin ? end - at : 0;
}

// Cuts the text before and after each leader.
std::vector<std::string_view> cut_at_leaders(std::string_view text) {
  std::vector<std::string_view> parts;
  std::size_t from = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = leader_length(text, at);
    if (length > 0 && at > from) parts.push_back(text.substr(from, at - from));
    if (length > 0) parts.push_back(text.substr(at, length));
    at += std::max<std::size_t>(length, 1);
    if (length > 0) from = at;
  }
  if (from < text.size()) parts.push_back(text.substr(from));
  return parts;
}

// Each part gets its share of the box, by its number of characters.
void append_parts(std::vector<Word>& words, const Word& word, const std::vector<std::string_view>& parts) {
  const float each = word.box.width() / static_cast<float>(schemas::characters(word.text));
  float x = word.box.x0;
  for (const std::string_view part : parts) {
    Word piece = word;
    piece.text = part;
    piece.box.x0 = x;
    piece.box.x1 = x += each * static_cast<float>(schemas::characters(part));
    words.push_back(std::move(piece));
  }
}

bool has_leader_and_text(const Word& word) { return !word.figure && cut_at_leaders(word.text).size() > 1; }

}  // namespace

std::size_t dots_of(std::string_view word) {
  std::size_t dots = 0;
  for (std::size_t at = 0, length = 0; at < word.size(); at += length, ++dots) {
    length = dot_length(word, at);
    if (length == 0) return 0;
  }
  return dots;
}

std::optional<PageText> with_leaders_apart(const PageText& page) {
  if (std::none_of(page.words.begin(), page.words.end(), has_leader_and_text)) return std::nullopt;
  PageText apart = page;
  apart.words.clear();
  for (const Word& word : page.words) {
    if (has_leader_and_text(word)) {
      append_parts(apart.words, word, cut_at_leaders(word.text));
    } else {
      apart.words.push_back(word);
    }
  }
  return apart;
}

}  // namespace millrace::engines
