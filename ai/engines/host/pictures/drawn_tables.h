#pragma once
#include <optional>
#include <vector>

#include "ai/engines/host/pictures/pixels.h"

namespace millrace::engines::host {

// Of a page without the lines of its tables. `gray`: 8 bits; `ink`: 1 bit, what is no paper on it; `letters`:
// the height of its letters in pixels.

// Whether text runs on through the lines, as on squared paper.
bool is_written_over(const Grid& grid, Pix* ink, float letters);

// nullopt: there is nothing in the cells or no memory, or the table lies on its side with its page, has
// pictures in it, or would be too large, apart.
std::optional<DrawnTable> set_apart(const Picture& gray, Pix* ink, Grid grid, float letters);

// From where a word stands among the cells set apart to where it stands on the page.
void put_back(const DrawnTable& table, Box& word);

// Takes the tables that are drawn with lines out of a page. `gray`: 8 bits, upright, its paper white;
// `letters`: the height of its letters in pixels. The grids are in its pixels.
std::vector<DrawnTable> take_tables(const Picture& gray, float letters);

}  // namespace millrace::engines::host
