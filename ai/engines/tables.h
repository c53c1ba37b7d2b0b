#pragma once
#include <string>
#include <vector>

#include "ai/engines/rows.h"

namespace millrace::engines {

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
