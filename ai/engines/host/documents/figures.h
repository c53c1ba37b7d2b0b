#pragma once
#include <vector>

#include "ai/engines/host/pictures/pixels.h"
#include "ai/engines/ocr/pages.h"

namespace millrace::engines::host {

// The pictures of a page: what its raster shows outside its words, in the units of `text`. Pieces that touch
// form one picture. Rules, frames and ornaments are ignored.
std::vector<Box> find_figures(const Picture& gray, const PageText& text);

}  // namespace millrace::engines::host
