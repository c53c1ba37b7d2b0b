#pragma once
#include "ai/engines/host/pixels.h"

namespace millrace::engines::host {

// Turns filled bands with bright letters in them, as the heads of tables have, into dark letters on white
// within a frame. `gray`: 8 bits, upright, its paper white; `letters`: the height of its letters in pixels.
void empty_filled_bands(const Picture& gray, float letters);

}  // namespace millrace::engines::host
