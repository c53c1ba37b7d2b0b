#pragma once
#include "ai/engines/host/pixels.h"

namespace millrace::engines::host {

// Takes a table out of a page: afterwards the page is white there. Its lines are off it already. `gray`: 8
// bits; `letters`: the height of its letters in pixels. `apart` is empty, and the page as it was, when there
// is no memory, and when the table lies on its side with its page.
DrawnTable take_out(const Picture& gray, Grid grid, float letters);

// From where a word stands among the cells set apart to where it stands on the page. False: in none of them.
bool put_back(const DrawnTable& table, Box& word);

}  // namespace millrace::engines::host
