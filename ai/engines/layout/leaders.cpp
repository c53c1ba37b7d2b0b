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

constexpr float kToLeader = 4;  // letter heights from a word to its leader

bool leads_from(const Word& word, const Box& leader) {
  const float letters = word.box.height(), gap = leader.x0 - word.box.x1;
  return !word.figure && word.turn == Orientation::kNone && leader.middle_y() > word.box.y0 &&
         leader.middle_y() < word.box.y1 && gap > -letters && gap < kToLeader * letters;
}

constexpr float kLowPart = 0.7F;  // of the height of a word: dots below it are full stops

float gap_to(const Word& word, const Box& box) {
  return std::max(box.x0 - word.box.x1, word.box.x0 - box.x1);
}

// The nearest word of the line of bullets; nullptr: there is none.
const Word* beside(const Box& bullets, const std::vector<Word>& words, std::size_t count) {
  const Word* nearest = nullptr;
  for (std::size_t i = 0; i < count; ++i) {
    const Word& word = words[i];
    const bool on_line = bullets.middle_y() > word.box.y0 && bullets.middle_y() < word.box.y1;
    if (word.figure || word.turn != Orientation::kNone || !on_line) continue;
    if (nearest == nullptr || gap_to(word, bullets) < gap_to(*nearest, bullets)) nearest = &word;
  }
  return nearest;
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

void add_leaders(const std::vector<Leader>& leaders, std::vector<Word>& words) {
  const std::size_t read = words.size();
  for (const Leader& leader : leaders) {
    if (!leader.bullets.empty()) {
      if (const Word* word = beside(leader.box, words, read)) {
        const bool low = leader.box.middle_y() > word->box.y0 + kLowPart * word->box.height();
        Word bullets{{leader.box.x0, word->box.y0, leader.box.x1, word->box.y1},
                     low ? std::string(leader.dots, '.') : leader.bullets};
        words.push_back(std::move(bullets));
      }
      continue;
    }
    const auto end = words.begin() + static_cast<std::ptrdiff_t>(read);
    const auto before =
        std::find_if(words.begin(), end, [&](const Word& word) { return leads_from(word, leader.box); });
    if (before == end) continue;
    Word dots{{leader.box.x0, before->box.y0, leader.box.x1, before->box.y1}, std::string(leader.dots, '.')};
    words.push_back(std::move(dots));
  }
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
