#pragma once
#include <vector>

#include "ai/engines/page_text.h"

namespace millrace::engines {

// A recogniser reads a bullet as a letter, or takes it for a speck and drops it. Adds a bullet "•" where a
// dot of `marks` stands alone to the left of a row, at the height of its letters' middle. Same units for
// both.
void add_bullets(const std::vector<Box>& marks, std::vector<Word>& words);

}  // namespace millrace::engines
