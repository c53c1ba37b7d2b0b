#pragma once
#include <string_view>
#include <vector>

#include "ai/engines/ocr/pages.h"

namespace millrace::engines {

// What a line begins or consists of.

bool is_bullet(std::string_view word);          // • - – * ▪ … as a text layer has them
bool is_speech_dash(std::string_view word);     // —, with which what somebody says begins
bool is_misread_bullet(std::string_view word);  // e o ¢ « ° ® + …: what OCR makes of a bullet
bool is_item_number(std::string_view word);     // 1. 12) (3) a) iv. B.
bool is_list_marker(std::string_view word);     // a bullet or an item number
// Two item numbers of one list that follow each other: 1. 2., (a) (b), iv) v).
bool follows_on(std::string_view before, std::string_view after);
// Dots of a section number, "1." is 1, "2.3" and "2.3." are 2; 0: it is none.
int section_depth(std::string_view word);
bool is_amount(std::string_view text);       // 1,300.00, (5 %), -3, € 12: digits and signs, but no letter
bool is_page_number(std::string_view line);  // 7, - 7 -, Page 7, 7 / 12, 7 of 12

bool ends_sentence(std::string_view text);  // by . ! ? : ; or a closing mark after it
bool starts_lower(std::string_view text);
bool starts_afresh(std::string_view text);  // by a capital or a digit; scripts without capitals never do
// The line ends in a hyphen after a letter.
bool ends_hyphenated(std::string_view text);
// Letters of Chinese or Japanese meet here, which have no spaces between words.
bool written_together(std::string_view before, std::string_view after);
// Appends a line to a paragraph: a word broken at a hyphen is healed when both halves are lower-case.
void join_line(std::string& paragraph, std::string_view line);

// Of what is recognised: marks outside ASCII begin, as UTF-8, with C2 (« ° ¢) or E2 (– • “), nothing else
// does.
bool has_letter_or_digit(std::string_view text);

// A recogniser reads a bullet as a letter, or takes it for a speck and drops it. Adds a bullet "•" where a
// dot of `marks` stands alone to the left of a row, at the height of its letters' middle. Same units for
// both.
void add_bullets(const std::vector<Box>& marks, std::vector<Word>& words);

}  // namespace millrace::engines
