#pragma once
#include <optional>
#include <string>
#include <vector>

#include "ai/engines/layout/rows.h"

namespace millrace::engines {

// Groups the lines of a table into rows. `letters` is the letter height.

inline constexpr float kRiver =
    0.55F;  // letter heights: minimum width of the white space between two columns

// Whether words[k] begins a cell: it follows a wide gap or is the first word.
bool begins_cell(const Row& row, std::size_t k, float letters);
bool has_cells(const Row& row, float letters);

// The table row that a line without cells belongs to: one cell of the row has several lines, and the other
// cells may be beside its first or its last line. In the first column, a line may only continue the row
// above, and not as the last line of the table, because text after the table and names of groups begin in the
// first column too. A total is a separate row: then the result is the line itself. nullopt: the line belongs
// to no row.
std::optional<std::size_t> row_of(const std::vector<Row>& rows, std::size_t line, float letters);

struct Table {
  std::size_t rows = 0;  // number of rows of the region that it covers
  std::vector<std::vector<std::string>> cells;
  std::vector<float> gaps = {};  // widths of the white space between its columns
};

// The table that begins at rows[first]; `rows` is 0 when there is none. A table is a run of at least three
// rows that each have a wide gap. Its columns are separated by vertical white space ("rivers") through all
// rows. `letters` is the letter height.
Table table_at(const std::vector<Row>& rows, std::size_t first, float letters);

// Separates the lines of a cell that were ended on purpose.
inline constexpr char kCellBreak = '\n';

// Whether a line of a cell was ended on purpose before the next one: it would have had space for its first
// word, which begins with a capital or a digit. `left` and `right`: the sides of the cell.
bool ends_on_purpose(const Row& line, const Row& next, float left, float right);

// Renders the table as markdown with the first row as the header. The cells are plain text (literal.h).
std::string table_markdown(const Table& table);

}  // namespace millrace::engines
