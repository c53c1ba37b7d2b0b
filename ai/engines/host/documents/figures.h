#pragma once
#include <vector>

#include "ai/engines/host/pictures/pixels.h"
#include "ai/engines/ocr/pages.h"

namespace millrace::engines::host {

// The pictures of a page: what is drawn on its raster beside its words, in the units of `text`. Pieces that
// touch are one picture; rules, frames and ornaments are none.
std::vector<Box> find_figures(const Picture& gray, const PageText& text);

}  // namespace millrace::engines::host
