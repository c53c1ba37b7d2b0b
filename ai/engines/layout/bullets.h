#pragma once
#include <deque>
#include <vector>

#include "ai/engines/layout/rows.h"

namespace millrace::engines {

// Fonts of bullets map them to letters (o, §, Ø, v), and recognisers read them as letters or signs (e, ¢, «).
// One such letter proves nothing. Several nearby rows that begin with it at the same x position, with their
// texts at one x position behind a gap, are a list. Puts "•" in the place of such words; `named` owns the new
// words. `letters` is the letter height; `recognised`: by OCR.
void name_bullets(std::vector<Row>& rows, float letters, bool recognised, std::deque<Word>& named);

}  // namespace millrace::engines
