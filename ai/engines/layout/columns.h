#pragma once
#include <vector>

#include "ai/engines/layout/rows.h"

namespace millrace::engines {

// Cuts a page into its columns of prose, in reading order: the text above two columns, the left column, the
// right column, the text below. A sidebar of short rows counts as a column. A table is not cut, because its
// columns are too narrow or too ragged to be prose.
std::vector<Words> reading_order(const Words& words);

// Whether the words left and right of a gutter form two columns of prose, or one column and a sidebar of
// short rows. False for a table, whose rows are read across. `letters` is the letter height.
bool are_columns(const Words& left_words, const Words& right_words, float letters);

}  // namespace millrace::engines
