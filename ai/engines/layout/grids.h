#pragma once
#include <cstddef>
#include <optional>
#include <vector>

#include "ai/engines/ocr/pages.h"

namespace millrace::engines {

// A table that is drawn: its lines cut it into columns and rows. A cell over several of them lacks the lines
// between.
class Grid {
 public:
  // `across` and `down`: the rules that meet in one frame, as thin boxes; `letters`: the height of a letter,
  // in the same units. nullopt: fewer than two columns or rows or more than 200, boxes for single letters,
  // cells that are no rectangles, or more than 2,000 rules.
  static std::optional<Grid> of(const std::vector<Box>& across, const std::vector<Box>& down, float letters);

  std::size_t columns() const { return xs_.size() - 1; }
  std::size_t rows() const { return ys_.size() - 1; }
  Box box() const { return {xs_.front(), ys_.front(), xs_.back(), ys_.back()}; }
  void move(float across, float down);
  void scale(float factor);

  // By its first row and column.
  struct Cell {
    std::size_t row = 0, column = 0;
  };
  // The cell that a place is in; nullopt: it lies outside.
  std::optional<Cell> cell_at(float x, float y) const;
  struct CellBox {
    Cell cell;
    Box box;
  };
  // Row by row.
  std::vector<CellBox> cells() const;
  const std::vector<float>& columns_at() const { return xs_; }  // their lines, from left to right
  // Where the lines between columns would cross a cell.
  std::vector<float> lines_through(const CellBox& cell) const;

 private:
  Grid(std::vector<float> xs, std::vector<float> ys) : xs_(std::move(xs)), ys_(std::move(ys)) {}
  void find_cells(const std::vector<Box>& across, const std::vector<Box>& down, float near);
  bool cells_lie_apart() const;

  std::vector<float> xs_, ys_;  // of the lines, ascending
  std::vector<Cell> cells_;     // row by row: where the cell of each square begins
};

// Sets the words that stand in a grid as its table, which takes their place as a figure does. A grid with
// too little in it is none: its words stay as they are. Nor is one whose words are no words: it is the ground
// of a drawing, they go, and its place is returned; so is one without words. The height of the letters is
// noted, for what is left may be little.
std::vector<Box> set_tables(const std::vector<Grid>& grids, PageText& page);

}  // namespace millrace::engines
