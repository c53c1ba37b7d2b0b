#pragma once
#include <string_view>
#include <vector>

#include "ai/engines/ocr/pages.h"

namespace millrace::engines {

// Classifies the beginning or the content of a line.

bool is_bullet(std::string_view word);          // • - – * ▪ ► …, as found in a text layer
bool is_content_symbol(std::string_view word);  // ☐ ☑ ✗ ▲: a bullet that is part of the text
bool is_speech_dash(std::string_view word);     // —, which introduces direct speech
bool is_misread_bullet(std::string_view word);  // e o ¢ « ° ® + …: how OCR misreads a bullet
bool is_item_number(std::string_view word);     // 1. 12) (3) a) iv. B.
bool is_list_marker(std::string_view word);     // a bullet or an item number
// Whether two item numbers follow each other in one list: 1. 2., (a) (b), iv) v).
bool follows_on(std::string_view before, std::string_view after);
// Depth of a section number: "1." is 1, "2.3" and "2.3." are 2; 0: no section number.
int section_depth(std::string_view word);
bool is_time(std::string_view text);         // a time or a date in digits: 8:30, 17.04.2026
bool is_amount(std::string_view text);       // 1,300.00, (5 %), -3, € 12: digits and signs, but no letter
bool is_page_number(std::string_view line);  // 7, - 7 -, Page 7, 7 / 12, 7 of 12

bool ends_sentence(std::string_view text);  // with . ! ? : ; or with a closing mark after one of them
bool starts_lower(std::string_view text);
bool starts_afresh(std::string_view text);  // with a capital or a digit; false for scripts without capitals
// The line ends in a hyphen after a letter.
bool ends_hyphenated(std::string_view text);
// Whether Chinese or Japanese letters meet here; those scripts have no spaces between words.
bool written_together(std::string_view before, std::string_view after);
// Appends a line to a paragraph. A word broken at a hyphen is joined when both halves are lower-case, unless
// the second one is a conjunction.
void join_line(std::string& paragraph, std::string_view line);

// For recognised text. A non-ASCII character counts unless its UTF-8 begins with C2 (« ° ¢) or E2 (– • “): in
// such text only marks begin so.
bool has_letter_or_digit(std::string_view text);

// A recogniser reads a bullet as a letter, or drops it as a speck. Adds a bullet "•" where a dot of `marks`
// is alone to the left of a row, at the middle height of its letters. Both arguments use the same units.
void add_bullets(const std::vector<Box>& marks, std::vector<Word>& words);

// Printed from a browser, the bullets of a list are drawings. Adds a bullet "•" where a dot of `dots` stands
// before text that has a wide gap, or nothing, in front. Two such dots are needed, one above the other.
void add_drawn_bullets(const std::vector<Box>& dots, std::vector<Word>& words);

// Whether lines of the page are set in, one above the other, as items of lists are: their bullets may be
// drawn. Cheap, and in doubt true.
bool may_hold_items(const PageText& page);

}  // namespace millrace::engines
