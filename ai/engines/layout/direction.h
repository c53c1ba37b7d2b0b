#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "ai/engines/ocr/pages.h"

namespace millrace::engines {

// Which way words run: a text layer gives its letters as they are seen from left to right, and may lie on its
// side.

// Brings a word with letters of Hebrew, Arabic and their kin from the order they are seen in to the order
// they are read in; numbers and Latin letters in it keep theirs. False: it has none of them.
bool set_in_reading_order(std::string& word);

// Sets the turn of every word; `lines` has the index of the first word of each line, whose words come in the
// order they are read in.
void mark_turns(std::vector<Word>& words, const std::vector<std::size_t>& lines);

// Whether every word stands upright and runs from left to right: there is nothing to do.
bool runs_plainly(const PageText& page);

// The page as it is read: its upright words first, then those of each turn as a page of their own, upright.
// What runs from right to left is mirrored, so that each of them is read from left to right.
std::vector<PageText> plain_pages(const PageText& page);

}  // namespace millrace::engines
