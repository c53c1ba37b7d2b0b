#pragma once
#include <deque>
#include <vector>

#include "ai/engines/layout/rows.h"

namespace millrace::engines {

// Fonts of bullets map them to letters (o, §, Ø, v), and recognisers read them as letters or signs (e, ¢, «).
// Only together do they tell what they are: rows close by begin with one at the same place, and their texts
// begin at one place behind a gap. Puts "•" in the place of such words; `named` owns the new words. `letters`
// is the letter height; `recognised`: by OCR.
void name_bullets(std::vector<Row>& rows, float letters, bool recognised, std::deque<Word>& named);

}  // namespace millrace::engines
