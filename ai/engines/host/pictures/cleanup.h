#pragma once
#include "ai/engines/host/pictures/pixels.h"

namespace millrace::engines::host {

// Turns filled bands with bright letters in them, as the heads of tables have, into dark letters on white
// within a frame. `gray`: 8 bits, upright, its paper white; `letters`: the height of its letters in pixels.
void empty_filled_bands(const Picture& gray, float letters);

// Whether the page is clearly darker than its brightest paper along a part of its edge, though not black: a
// shadow falls over it. A picture within its margins is none. `gray`: 8 bits, its paper the bright part.
bool unevenly_lit(Pix* gray);

// The page with its paper equally bright everywhere. Empty: leptonica finds no paper, or no memory.
Picture evenly_lit(Pix* gray);

// Whether much of the ink is dots of one pixel that touch no other at a side: a gray page that was dithered
// to black and white, or salt and pepper. `binary`: one bit a pixel. Some milliseconds.
bool speckled(Pix* binary);

// The page with its dots smoothed into the paper and its letters kept; dithered gray is gray again. Empty: no
// memory. `gray`: 8 bits, its paper the bright part.
Picture calmed(Pix* gray);

}  // namespace millrace::engines::host
