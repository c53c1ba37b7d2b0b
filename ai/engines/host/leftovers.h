#pragma once
#include <cstddef>
#include <vector>

#include "ai/engines/page_text.h"

namespace millrace::engines::host {

// A word that was read, and which of the blocks of the page it stands in.
struct Placed {
  Box box;
  int block = 0;
};

// What a reading leaves of a page.
struct Leftovers {
  std::size_t letters = 0;  // in no word and no picture
  std::size_t torn = 0;     // words with a border of two blocks through them: a price list's, at their points
  std::size_t count() const { return letters + torn; }
};
// `letters`: the components of the page that are as large as letters. Nothing, of more than kLeftoversMax
// words or letters: those are noise, and the time is better spent.
Leftovers leftovers_of(const std::vector<Box>& letters, const std::vector<Placed>& words,
                       const std::vector<Box>& pictures);
constexpr std::size_t kLeftoversMax = 6000;

// Whether there is so much of it that another reading is worth its time.
bool worth_another_look(const Leftovers& left, std::size_t letters);

}  // namespace millrace::engines::host
