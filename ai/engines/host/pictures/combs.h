#pragma once
#include <vector>

#include "ai/engines/host/pictures/pixels.h"

namespace millrace::engines::host {

// Takes fields with a box for each character out of a page: a row of boxes that touch each other or nearly
// do, each with one character at most. A recogniser would read their lines as brackets. All in pixels of
// `gray`: 8 bits, upright, white paper; `letters`: the height of the page's letters in pixels.
std::vector<Comb> take_combs(const Picture& gray, float letters);

}  // namespace millrace::engines::host
