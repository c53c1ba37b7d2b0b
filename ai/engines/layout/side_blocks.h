#pragma once
#include <optional>
#include <string>
#include <vector>

#include "ai/engines/layout/tables.h"

namespace millrace::engines {

// The texts of rows that have gaps, but are no table: names with values ("Town: Leeds"), a line each, or
// blocks side by side, such as the addresses of a letter, one after the other. kCellBreak separates lines.
// nullopt: the rows are a table.
std::optional<std::vector<std::string>> side_blocks(const Table& table);

// The two tables that stand side by side and were read as one: the columns of both are of the same kinds, and
// their heads are the same, one of them has fewer rows, or the white space between them is clearly wider than
// that between their columns. Otherwise the table itself.
std::vector<Table> apart(Table table);

// Whether lines below each other are of different kinds, such as a name, a street with a number and a town,
// or all names with values.
bool are_lines_of_block(const std::vector<std::string>& lines);

}  // namespace millrace::engines
