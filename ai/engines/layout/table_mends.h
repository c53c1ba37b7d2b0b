#pragma once
#include <string>
#include <vector>

#include "ai/engines/layout/tables.h"

namespace millrace::engines {

// Mends of tables whose rows and columns are found by white space. The first row is the head.

// A head at the left of its column and values at its right are one column, not two.
void join_split_columns(Table& table);

// The amount of an entry may stand beside the last line of its text, as in statements of account: that line
// is part of the entry above, if several entries of the table are like this.
void join_late_values(std::vector<std::vector<std::string>>& rows);

// Joins the date of a cell that goes on in the next line: "2023-01-" and "10". kCellBreak separates lines.
std::string with_whole_dates(std::string cell);

}  // namespace millrace::engines
