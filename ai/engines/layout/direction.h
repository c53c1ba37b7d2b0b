#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "ai/engines/ocr/pages.h"

namespace millrace::engines {

// Direction of words. A text layer gives letters in visual order from left to right, and its text may be
// rotated.

// Converts a word with right-to-left letters (Hebrew, Arabic and similar scripts) from visual to logical
// order; numbers and Latin letters in it keep their order. Presentation forms become the letters that they
// stand for. False: the word has no such letters.
bool set_in_reading_order(std::string& word);

// Some fonts map the ligature of lam and alef to its two letters in reading order, which the words then have
// from back to front. Mends them where the page shows it: the word "la" is so, and no lam has an alef behind
// it.
void mend_lam_alef(std::vector<Word>& words);

// Sets the orientation of every word. Chinese and Japanese letters that follow each other below run
// downwards. `lines` has the index of the first word of each line; the words of a line are in reading order.
void mark_orientations(std::vector<Word>& words, const std::vector<std::size_t>& lines);

// How many quarter turns, clockwise, make most words of the page upright; 0: none are needed.
int turns_to_upright(const std::vector<Word>& words);
// A box after one quarter turn, clockwise, of a page that was `height` high.
Box quarter_turned(const Box& box, float height);
// Turns a page clockwise: its size, its boxes and the orientations of its words.
void turn_page(PageText& page, int quarter_turns);

// Whether every word is upright and runs from left to right, so that no conversion is needed.
bool runs_plainly(const PageText& page);

// Splits the page by orientation: first the words that are upright on the page as it is seen, then the words
// of each other orientation as a separate page, turned upright. Right-to-left text is mirrored, so that every
// page can be read from left to right.
std::vector<PageText> plain_pages(const PageText& page);

}  // namespace millrace::engines
