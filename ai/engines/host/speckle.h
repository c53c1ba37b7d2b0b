#pragma once
#include "ai/engines/host/pixels.h"

namespace millrace::engines::host {

// Whether much of the ink is dots of one pixel that touch no other at a side: a gray page that was dithered
// to black and white, or salt and pepper. `binary`: one bit a pixel. Some milliseconds.
bool speckled(Pix* binary);

// The page with its dots smoothed into the paper and its letters kept; dithered gray is gray again. Empty: no
// memory. `gray`: 8 bits, its paper the bright part.
Picture calmed(Pix* gray);

}  // namespace millrace::engines::host
