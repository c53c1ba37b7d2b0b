#pragma once
#include <cstddef>
#include <optional>
#include <vector>

#include "ai/engines/host/pictures/pixels.h"

namespace millrace::engines::host {

// Functions for a page without the lines of its tables. `gray`: 8 bits; `ink`: 1 bit, set where there is no
// paper; `letters`: the height of the page's letters in pixels.

// Whether text crosses the lines, as on squared paper.
bool is_written_over(const Grid& grid, Pix* ink, float letters);

// Copies the cells of a table, set apart from each other. nullopt: the cells are empty, memory is short, the
// table is rotated with its page, it contains pictures, or the result would be too large.
std::optional<DrawnTable> set_apart(const Picture& gray, Pix* ink, Grid grid, float letters);

// The index of the piece at a place among the separated cells, or of the nearest one.
std::size_t piece_at(const DrawnTable& table, float x, float y);

// Takes the tables that are drawn with lines out of a page. `gray`: 8 bits, upright, white paper; `letters`:
// the height of the page's letters in pixels. Grids and rules are in pixels of `gray`.
struct TakenTables {
  std::vector<DrawnTable> tables;
  std::vector<Box> rules;  // long lines across that belong to no grid; they stay in `gray`
};
TakenTables take_tables(const Picture& gray, float letters);

// Paints over the long thin strokes across and down.
void erase_rules(const Picture& gray, float letters);

}  // namespace millrace::engines::host
