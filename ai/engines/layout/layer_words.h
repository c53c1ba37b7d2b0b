#pragma once
#include <cstddef>
#include <string_view>
#include <vector>

#include "ai/engines/ocr/pages.h"

namespace millrace::engines {

// Mends the words of a text layer where fonts and producers distort them. `lines` has the index of the first
// word of each line; the words of a line are in reading order.

// The words of `text` (UTF-8), at most `most`: some fonts map their space to a character that a reader of
// text layers does not take for one. Each word gets its part of `box` by the number of its characters. Text
// that does not run from left to right stays one word. The glyphs of a leader that its font does not map
// become dots.
std::vector<Word> words_within(const Box& box, std::string_view text, std::size_t most);

// Gives words whose font declares letters without a height the height that their letters have by their
// widths. REQUIRES: the orientations are set.
void mend_flat_boxes(std::vector<Word>& words, const std::vector<std::size_t>& lines);

// Tesseract stretches a word of its hidden text over the word's ink together with the space behind it, so its
// box ends one letter too early. Gives the words their last letters if the gaps between the words of the page
// show this. REQUIRES: the orientations and the lines are set.
void mend_cut_boxes(std::vector<Word>& words);

// Whether a character (UTF-8) is that of a font without a usable mapping: U+FFFD, the private use area.
bool is_unmapped(std::string_view character);

// Joins the pieces of a word: small capitals, lowered digits, fractions and undone kerning touch, although a
// reader of text layers parts them. Two numbers stay apart. REQUIRES: the orientations are set.
void join_touching(std::vector<Word>& words, const std::vector<std::size_t>& lines);

}  // namespace millrace::engines
