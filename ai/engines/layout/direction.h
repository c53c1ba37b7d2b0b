#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "ai/engines/ocr/pages.h"

namespace millrace::engines {

// Direction of words. A text layer gives letters in visual order from left to right, and its text may be
// rotated.

// Converts a word with right-to-left letters (Hebrew, Arabic and similar scripts) from visual to logical
// order; numbers and Latin letters in it keep their order. False: the word has no such letters.
bool set_in_reading_order(std::string& word);

// Sets the orientation of every word. `lines` has the index of the first word of each line; the words of a
// line are in reading order.
void mark_orientations(std::vector<Word>& words, const std::vector<std::size_t>& lines);

// Whether every word is upright and runs from left to right, so that no conversion is needed.
bool runs_plainly(const PageText& page);

// Splits the page by orientation: first the upright words, then the words of each other orientation as a
// separate page, turned upright. Right-to-left text is mirrored, so that every page can be read from left to
// right.
std::vector<PageText> plain_pages(const PageText& page);

}  // namespace millrace::engines
