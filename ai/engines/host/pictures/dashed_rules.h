#pragma once
#include <vector>

#include "ai/engines/ocr/pages.h"

namespace millrace::engines::host {

struct DashedRule {
  std::vector<Box> dashes;  // from one end to the other
  std::vector<Box> line;    // fills it: one box for each two dashes
};

// Finds the dashed lines across and down: many dashes of mostly equal lengths and distances. A few hyphens,
// or letters below each other, are none. `pieces`: of the ink of a page; `letters`: the letter height in its
// pixels. Returns nothing for more dashes than a page of tables has.
std::vector<DashedRule> find_dashed_rules(const std::vector<Box>& pieces, float letters);

}  // namespace millrace::engines::host
