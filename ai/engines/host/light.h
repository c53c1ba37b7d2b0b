#pragma once
#include "ai/engines/host/pixels.h"

namespace millrace::engines::host {

// Whether the page is clearly darker than its brightest paper along a part of its edge, though not black: a
// shadow falls over it. A picture within its margins is none. `gray`: 8 bits, its paper the bright part.
bool unevenly_lit(Pix* gray);

// The page with its paper equally bright everywhere. Empty: leptonica finds no paper, or no memory.
Picture evenly_lit(Pix* gray);

}  // namespace millrace::engines::host
