#pragma once
#include "ai/engines/rows.h"

namespace millrace::engines {

// Whether what stands left and right of a gutter are two columns of prose, or one of short rows beside one;
// the rows of a table read across. `letters` is the letter height.
bool are_columns(const Words& left_words, const Words& right_words, float letters);

}  // namespace millrace::engines
