#pragma once
#include "ai/engines/host/pixels.h"

namespace millrace::engines::host {

// Takes a table out of a page: afterwards the page is white there. Its lines are off it already. `gray`: 8
// bits; `ink`: 1 bit, what is no paper on it; `letters`: the height of its letters in pixels. `apart` is
// empty, and the page as it was, where there is nothing in the cells or no memory, where the table lies on
// its side with its page, has pictures in it, is paper with lines that text is written over, or would be too
// large, apart.
DrawnTable take_out(const Picture& gray, Pix* ink, Grid grid, float letters);

// From where a word stands among the cells set apart to where it stands on the page.
void put_back(const DrawnTable& table, Box& word);

}  // namespace millrace::engines::host
