#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ai/engines/ocr/pages.h"

namespace millrace::engines {

// A leader is a row of dots from an entry to its page number or its amount.

// This many dots that follow each other are a leader; fewer are an ellipsis.
inline constexpr std::size_t kLeaderMin = 5;

// The number of dots of a word that has nothing else; 0: it has.
std::size_t dots_of(std::string_view word);

// A leader or a row of bullets that a picture shows, which a recogniser would drop or read as letters.
struct Leader {
  Box box;
  std::size_t dots = 0;
  std::string bullets = {};  // a mask such as "••••" or a rating such as "●●●○"; empty: a leader
};

// Adds the leaders that follow a word of their line as words of dots, and the bullets that stand beside a
// word. Both arguments use the same units.
void add_leaders(const std::vector<Leader>& leaders, std::vector<Word>& words);

// The page with each leader as a word of its own, where it touches the text beside it; nullopt: it touches
// none.
std::optional<PageText> with_leaders_apart(const PageText& page);

}  // namespace millrace::engines
