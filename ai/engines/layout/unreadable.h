#pragma once
#include <vector>

#include "ai/engines/ocr/pages.h"

namespace millrace::engines {

// Takes those words out of a text layer that are no text and returns them. A font without a usable mapping
// gives private-use characters, U+FFFD, or the numbers of its glyphs as if they were letters. Numbers are
// recognised by the letter pairs: they are unlikely as they stand, and likely when all are moved by the same
// number. Each line is judged by itself, a short one with the others. Code, part numbers, amounts, acronyms
// and sequences of DNA stay, because they do not become a language. Letters of Latin-1 in place of Cyrillic
// ones and words in two scripts are no text either. A pure function; linear for text that is sound.
std::vector<Word> take_unreadable(PageText& page);

}  // namespace millrace::engines
