#pragma once
#include <vector>

#include "ai/engines/layout/check_boxes.h"
#include "ai/engines/layout/grids.h"
#include "ai/engines/ocr/pages.h"

namespace millrace::engines {

// Joins characters that stand in boxes of their own, one beside the other: "1 7 0 4" becomes "1704". A gap
// or an empty box between them becomes a space. Their boxes are removed from `boxes`. `rules`: the lines that
// the page draws, in its units.
void join_boxed_characters(const Rules& rules, std::vector<CheckBox>& boxes, PageText& page);

}  // namespace millrace::engines
