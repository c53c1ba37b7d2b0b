#pragma once
#include <cstddef>
#include <vector>

#include "ai/engines/layout/table_frames.h"
#include "ai/engines/ocr/pages.h"

namespace millrace::engines {

// A text of a column and the index of its line.
struct ColumnCell {
  std::size_t line = 0;
  Box box;
  std::vector<const Word*> words;
  bool number = false;
  std::string text() const;
};

// Texts below each other, most of which are numbers.
struct NumberColumn {
  float x0 = 0, x1 = 0;
  std::vector<ColumnCell> cells;  // from top to bottom, with texts between the numbers that are none
};

inline constexpr float kTextsApart = 0.8F;  // letter heights: between two cells of a line of numbers

// Finds the columns of numbers. A column has at least three numbers, each beside other text. The numbers of a
// list are none. `lines`: of the page, cut at kTextsApart.
std::vector<NumberColumn> number_columns(const std::vector<TextLine>& lines, float letters);

// The columns of short texts that are none of `known`, but may be numbers whose digits were read as letters
// or brackets: their letters after such signs repeat ("Oms", "1lms", "5 ms"), or they hold nothing but such
// signs and at least one number.
std::vector<NumberColumn> misread_columns(const std::vector<TextLine>& lines, float letters,
                                          const std::vector<NumberColumn>& known);

// The words of a page that run from left to right, as lines.
std::vector<TextLine> lines_of_page(const PageText& page, float letters);

// The texts of a column that begin at one place, from top to bottom.
using TextColumn = std::vector<const Chunk*>;
std::vector<TextColumn> text_columns(const std::vector<TextLine>& lines, float letters);

// An area of a page that holds a table without lines between its columns.
struct TableRegion {
  Box box;
  std::vector<Box> columns;  // of numbers
};

// Columns of numbers with the texts beside them, and what stands between rules of one extent. No region
// overlaps another one; those with numbers come first. `rules`: long lines across.
std::vector<TableRegion> table_regions(const PageText& page, const std::vector<Box>& rules);

}  // namespace millrace::engines
