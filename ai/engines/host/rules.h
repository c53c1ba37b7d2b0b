#pragma once
#include <vector>

#include "ai/engines/host/pixels.h"

namespace millrace::engines::host {

// Takes the tables that are drawn with lines out of a page. `gray`: 8 bits, upright, its paper white;
// `letters`: the height of its letters in pixels. The grids are in its pixels.
std::vector<DrawnTable> take_tables(const Picture& gray, float letters);

}  // namespace millrace::engines::host
