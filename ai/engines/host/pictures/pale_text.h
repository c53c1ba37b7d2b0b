#pragma once
#include <vector>

#include "ai/engines/host/pictures/pixels.h"

namespace millrace::engines::host {

// Makes pale lines of text as dark as other text; a recogniser that finds one threshold for a page takes them
// for paper. Light bands with white letters become dark, too. `gray`: 8 bits, upright, replaced by a copy if
// it changes; `paper`: the brightness of its paper; `letters`: the height of its letters in pixels. Returns
// where the text was.
std::vector<Box> darken_pale_text(Picture& gray, int paper, float letters);

}  // namespace millrace::engines::host
