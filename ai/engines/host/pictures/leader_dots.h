#pragma once
#include <vector>

#include "ai/engines/host/pictures/pixels.h"

namespace millrace::engines::host {

// Finds rows of small dots of equal distance with nothing above or between them. `pieces`: of `binary`;
// `letters`: the letter height in its pixels. Returns nothing for more pieces than a page of text has.
std::vector<Leader> find_leaders(const std::vector<Box>& pieces, Pix* binary, float letters);

// Finds rows of at least three round bullets of equal size and distance, some of which are solid: masks of
// numbers, ratings. A disc is "•", in a rating "●" or "○". Nothing else stands between them.
std::vector<Leader> find_bullets(const std::vector<Box>& pieces, Pix* binary, float letters);

}  // namespace millrace::engines::host
