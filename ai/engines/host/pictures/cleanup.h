#pragma once
#include "ai/engines/host/pictures/pixels.h"

namespace millrace::engines::host {

// Turns filled bands with bright letters, such as table headers, into dark letters on white within a frame.
// `gray`: 8 bits, upright, white paper; `letters`: the height of the page's letters in pixels.
void empty_filled_bands(const Picture& gray, float letters);

// Whether a part of the page's edge is clearly darker than its brightest paper, but not black: a shadow falls
// over it. A picture within the margins does not count. `gray`: 8 bits, bright paper.
bool unevenly_lit(Pix* gray);

// The page with uniformly bright paper. Empty: leptonica finds no paper, or memory is short.
Picture evenly_lit(Pix* gray);

// Whether much of the ink consists of single pixels that touch no other at a side: a gray page dithered to
// black and white, or salt-and-pepper noise. `binary`: 1 bit. Takes some milliseconds.
bool speckled(Pix* binary);

// The page with the dots smoothed into the paper and the letters kept; dithered gray becomes gray. Empty:
// memory is short. `gray`: 8 bits, bright paper.
Picture despeckled(Pix* gray);

}  // namespace millrace::engines::host
