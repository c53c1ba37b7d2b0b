#pragma once
#include <vector>

#include "ai/engines/layout/rows.h"

namespace millrace::engines {

// Cuts a page into its columns of prose, in reading order: what stands above two columns, the left one, the
// right one, what stands below; a sidebar of short rows is one, too. A table is not cut: its columns are too
// narrow or too ragged to be prose.
std::vector<Words> reading_order(const Words& words);

// Whether what stands left and right of a gutter are two columns of prose, or one of short rows beside one;
// the rows of a table read across. `letters` is the letter height.
bool are_columns(const Words& left_words, const Words& right_words, float letters);

}  // namespace millrace::engines
