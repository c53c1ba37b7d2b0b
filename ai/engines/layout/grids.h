#pragma once
#include <cstddef>
#include <optional>
#include <vector>

#include "ai/engines/ocr/pages.h"

namespace millrace::engines {

// Straight lines that a page draws, as thin boxes.
struct Rules {
  std::vector<Box> across, down;
};

// A table with drawn lines, which divide it into columns and rows. A cell that spans several has no lines
// between them.
class Grid {
 public:
  // `across` and `down`: the rules of one frame, as thin boxes; `letters`: the letter height in the same
  // units. nullopt: fewer than two or more than 200 columns or rows (at least `rows_min`), boxes for single
  // letters, cells that are not rectangles, or more than 2,000 rules.
  static std::optional<Grid> of(const std::vector<Box>& across, const std::vector<Box>& down, float letters,
                                std::size_t rows_min = 2);

  std::size_t columns() const { return xs_.size() - 1; }
  std::size_t rows() const { return ys_.size() - 1; }
  Box box() const { return {xs_.front(), ys_.front(), xs_.back(), ys_.back()}; }
  void move(float across, float down);
  void scale(float factor);

  // Identified by its first row and column.
  struct Cell {
    std::size_t row = 0, column = 0;
  };
  // The cell at a position; nullopt: outside the grid.
  std::optional<Cell> cell_at(float x, float y) const;
  struct CellBox {
    Cell cell;
    Box box;
  };
  // Row by row.
  std::vector<CellBox> cells() const;
  const std::vector<float>& columns_at() const {
    return xs_;
  }  // positions of their lines, from left to right
  // Positions of the lines between columns that would cross a cell.
  std::vector<float> lines_through(const CellBox& cell) const;
  // Whether one tall cell is most of the grid: the body of a page inside its frame.
  bool has_body(float letters) const;

 private:
  Grid(std::vector<float> xs, std::vector<float> ys) : xs_(std::move(xs)), ys_(std::move(ys)) {}
  void find_cells(const std::vector<Box>& across, const std::vector<Box>& down, float near);
  bool cells_lie_apart() const;

  std::vector<float> xs_, ys_;  // of the lines, ascending
  std::vector<Cell> cells_;     // row by row: where the cell of each square begins
};

// The grids of rules that touch each other, from the smallest to the largest.
std::vector<Grid> grids_of(const Rules& rules, float letters, std::size_t rows_min = 2);

// Replaces the words inside a grid by a table, which takes their place as a figure does. A grid with too
// little content is not a table: its words stay unchanged. A grid without words, or whose words are not real
// words, is the background of a drawing: its words are removed and its box is returned. Records the letter
// height first, because few words may remain.
std::vector<Box> set_tables(const std::vector<Grid>& grids, PageText& page);

// Whether the words of a text layer may be those of a table: several lines have wide gaps.
bool may_hold_tables(const PageText& page);

// The same as `set_tables` for a text layer and the rules of its page. Words that are no part of a table stay
// unchanged, and so do all words of a grid that is drawn through its words or holds words that do not run
// from left to right.
// Returns the rules across that belong to no table.
std::vector<Box> set_ruled_tables(const Rules& rules, PageText& page);

}  // namespace millrace::engines
