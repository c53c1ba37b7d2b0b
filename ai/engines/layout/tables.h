#pragma once
#include <optional>
#include <string>
#include <vector>

#include "ai/engines/layout/rows.h"

namespace millrace::engines {

// How the lines of a table make its rows. `letters` is the letter height.

inline constexpr float kRiver = 0.55F;  // letter heights: the narrowest white between two columns

// Words[k] begins a cell: it comes after a wide gap, or first.
bool begins_cell(const Row& row, std::size_t k, float letters);
bool has_cells(const Row& row, float letters);
// From the top of the row before. REQUIRES: i > 0.
float step_to(const std::vector<Row>& rows, std::size_t i);

// The row of a table that a line without cells is of: one of its cells has several lines, of which the others
// of the row may stand beside the first or the last. In the first column it may only go on with the row
// above, and not as the last of the table: so begin the text after it and the names of groups. A total is a
// row of its own: the line itself. nullopt: the line is of none.
std::optional<std::size_t> row_of(const std::vector<Row>& rows, std::size_t line, float letters);

struct Table {
  std::size_t rows = 0;  // how many rows of the region it takes
  std::vector<std::vector<std::string>> cells;
};

// The table that begins at rows[first]; `rows` 0: none does. A table is a run of at least three rows with a
// wide gap each, cut into columns by the white rivers that run through all of them. `letters` is the letter
// height.
Table table_at(const std::vector<Row>& rows, std::size_t first, float letters);

// As markdown, the first row as the head; the cells are texts (literal.h).
std::string table_markdown(const Table& table);

}  // namespace millrace::engines
