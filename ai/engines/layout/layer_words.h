#pragma once
#include <cstddef>
#include <vector>

#include "ai/engines/ocr/pages.h"

namespace millrace::engines {

// Mends the words of a text layer where fonts and producers distort them. `lines` has the index of the first
// word of each line; the words of a line are in reading order.

// Joins the pieces of a word: small capitals, lowered digits, fractions and undone kerning touch, although a
// reader of text layers parts them. Two numbers stay apart. REQUIRES: the orientations are set.
void join_touching(std::vector<Word>& words, const std::vector<std::size_t>& lines);

}  // namespace millrace::engines
