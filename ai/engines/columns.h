#pragma once
#include <vector>

#include "ai/engines/rows.h"

namespace millrace::engines {

// Cuts a page into its columns of prose, in reading order: what stands above two columns, the left one, the
// right one, what stands below; a sidebar of short rows is one, too. A table is not cut: its columns are too
// narrow or too ragged to be prose.
std::vector<Words> reading_order(const Words& words);

}  // namespace millrace::engines
