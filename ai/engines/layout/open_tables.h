#pragma once
#include <vector>

#include "ai/engines/ocr/pages.h"

namespace millrace::engines {

// Replaces the words of tables with rules above and below, but none between their columns ("booktabs"), by a
// table, as set_ruled_tables does. `across`: the rules that run across, without those of grids. At least two
// of the same extent enclose a table; the columns are parted by the white space between them. A line of the
// table begins a row when the step to it is wider than within a cell, or when it has a value in a column that
// never has several lines. Text in columns, and text between a head rule and a foot rule, is no table.
void set_open_tables(const std::vector<Box>& across, PageText& page);

}  // namespace millrace::engines
