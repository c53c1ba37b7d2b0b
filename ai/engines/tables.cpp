#include "ai/engines/tables.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "ai/engines/literal.h"
#include "ai/engines/markers.h"

namespace millrace::engines {
namespace {

constexpr std::size_t kTableRowsMin = 3;
constexpr std::size_t kRowsMax = 200;
constexpr std::size_t kRowsAboveMax = 8;  // of something else, close above a table
constexpr float kGap = 1.1F;              // times the letter height: what a row of a table has
constexpr float kRiver = 0.55F;           // the narrowest river between columns
constexpr float kPitchMax = 2.6F;         // rows further apart belong to different things …
constexpr float kEvenMax = 5;             // … unless they are evenly so
constexpr float kEvenBy = 0.15F;
constexpr float kWrapPitch = 1.4F;   // a cell's second line is so close below its first
constexpr float kFilledRows = 0.6F;  // part of the rows that has two cells or more

bool has_cells(const Row& row, float letters) {
  if (row.figure() || row.words.size() < 2) return false;
  // The gap after a bullet or a number is no gap between cells.
  const std::size_t from = is_list_marker(row.words.front()->text) ? 1 : 0;
  std::size_t at = 0;
  return row.widest_gap(at, from) > kGap * letters;
}

// The one cell of a row that goes on from the row close above: it begins where one of its cells does and ends
// before the next. In the first column it must be closer to that row than to another one of the table below:
// so begins the text after a table, too.
bool goes_on(const std::vector<Row>& rows, std::size_t i, float letters) {
  const Row& row = rows[i];
  const Row& above = rows[i - 1];
  const float step = row.box.y0 - above.box.y0;
  if (row.figure() || above.figure() || step > kWrapPitch * letters) return false;
  float right = 0;
  std::size_t cell = 0;
  bool found = false;
  for (std::size_t k = 0; k < above.words.size(); ++k) {
    const Word& word = *above.words[k];
    const bool begins = k == 0 || word.box.x0 - above.words[k - 1]->box.x1 > kGap * letters;
    if (!begins) continue;
    if (found && right == 0) right = word.box.x0;
    if (std::abs(word.box.x0 - row.box.x0) < letters / 2) {
      found = true;
      cell = k;
      right = 0;
    }
  }
  if (!found || (right > 0 && row.box.x1 > right)) return false;
  if (cell > 0) return true;
  return i + 1 < rows.size() && has_cells(rows[i + 1], letters) &&
         rows[i + 1].box.y0 - row.box.y0 > 1.1F * step;
}

// The one cell of a row that goes on in the row close below, where the others of its row stand at its end: it
// begins where one of them does, but for the first, and ends before the next.
bool leads_on(const std::vector<Row>& rows, std::size_t i, float letters) {
  if (i + 1 >= rows.size() || rows[i].figure() || !has_cells(rows[i + 1], letters)) return false;
  const Row& below = rows[i + 1];
  if (below.box.y0 - rows[i].box.y0 > kWrapPitch * letters) return false;
  for (std::size_t k = 1; k < below.words.size(); ++k) {
    if (std::abs(below.words[k]->box.x0 - rows[i].box.x0) >= letters / 2) continue;
    const auto next = std::find_if(below.words.begin() + static_cast<std::ptrdiff_t>(k), below.words.end(),
                                   [&](const Word* word) { return word->box.x0 > rows[i].box.x1; });
    return next == below.words.end() || (*next)->box.x0 - rows[i].box.x1 > kRiver * letters;
  }
  return false;
}

bool close_enough(float step, float letters, float& even) {
  if (step <= kPitchMax * letters) return true;
  if (step > kEvenMax * letters) return false;
  if (even == 0) even = step;
  return std::abs(step - even) < kEvenBy * even;
}

std::size_t run_length(const std::vector<Row>& rows, std::size_t first, float letters) {
  if (!has_cells(rows[first], letters)) return 0;
  std::size_t end = first + 1;
  std::size_t above = first;  // the last row that has cells
  float even = 0;
  for (; end < std::min(rows.size(), first + kRowsMax); ++end) {
    if (!has_cells(rows[end], letters)) {
      if (leads_on(rows, end, letters)) continue;
      if (above + 1 != end || !goes_on(rows, end, letters)) break;
      continue;
    }
    if (!close_enough(rows[end].box.y0 - rows[above].box.y0, letters, even)) break;
    above = end;
  }
  while (end > above + 1 && leads_on(rows, end - 1, letters)) --end;  // to what is no more of the run
  return end - first;
}

// White from top to bottom, between two columns.
struct River {
  float from = 0, to = 0;
};

std::vector<River> rivers(const std::vector<Row>& rows, std::size_t first, std::size_t count, float letters) {
  std::vector<std::array<float, 2>> spans;
  for (std::size_t i = first; i < first + count; ++i) {
    for (const Word* word : rows[i].words) spans.push_back({word->box.x0, word->box.x1});
  }
  std::sort(spans.begin(), spans.end());
  std::vector<River> result;
  float reach = spans.front()[1];
  for (const auto& [from, to] : spans) {
    if (from - reach > kRiver * letters) result.push_back({reach, from});
    reach = std::max(reach, to);
  }
  return result;
}

// Whether too little of it is white where the row passes.
bool closes(const Row& row, const River& river, float letters) {
  float white = 0;
  float reach = river.from;
  for (const Word* word : row.words) {
    if (word->box.x1 <= river.from || word->box.x0 >= river.to) continue;
    white = std::max(white, word->box.x0 - reach);
    reach = std::max(reach, word->box.x1);
  }
  return std::max(white, river.to - reach) <= kRiver * letters;
}

// How many rows of the run are the table's. A line of prose with one wide gap may follow: it closes every
// river, or one while it stands out on a side.
std::size_t table_length(const std::vector<Row>& rows, std::size_t first, std::size_t run, float letters) {
  float left = rows[first].box.x0;
  float right = rows[first].box.x1;
  for (std::size_t count = 1; count < run; ++count) {
    const Row& next = rows[first + count];
    const std::vector<River> all = rivers(rows, first, count, letters);
    const bool stands_out = next.box.x0 < left - letters || next.box.x1 > right + letters;
    const auto closed = static_cast<std::size_t>(
        std::ranges::count_if(all, [&](const River& river) { return closes(next, river, letters); }));
    if (closed == all.size() || (stands_out && closed > 0)) return count;
    left = std::min(left, next.box.x0);
    right = std::max(right, next.box.x1);
  }
  return run;
}

std::size_t cell_count(const Row& row, float letters) {
  std::size_t count = 1;
  for (std::size_t i = 1; i < row.words.size(); ++i) {
    if (row.words[i]->box.x0 - row.words[i - 1]->box.x1 > kGap * letters) ++count;
  }
  return count;
}

// How many rows from `first` on stand above a table and are none of it: the next has more cells, and without
// those before it there are more columns, for they lie over its rivers.
std::size_t rows_above(const std::vector<Row>& rows, std::size_t first, std::size_t run, std::size_t columns,
                       float letters) {
  for (std::size_t above = 1; above + kTableRowsMin <= run && above <= kRowsAboveMax; ++above) {
    const std::size_t next = first + above;
    if (cell_count(rows[next], letters) <= cell_count(rows[next - 1], letters)) continue;
    const std::size_t count = table_length(rows, next, run - above, letters);
    if (count >= kTableRowsMin && rivers(rows, next, count, letters).size() > columns) return above;
  }
  return 0;
}

std::vector<std::string> cells_of(const Row& row, const std::vector<River>& all) {
  std::vector<std::string> cells(all.size() + 1);
  for (const Word* word : row.words) {
    const auto column = std::ranges::count_if(
        all, [&](const River& river) { return (river.from + river.to) / 2 <= word->box.middle_x(); });
    std::string& cell = cells[static_cast<std::size_t>(column)];
    if (!cell.empty()) cell += ' ';
    cell += word->text;
  }
  return cells;
}

std::vector<std::string> joined_cells(std::vector<std::string> row, const std::vector<std::string>& more) {
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (!more[i].empty()) join_line(row[i], more[i]);
  }
  return row;
}

bool enough_cells(const Table& table) {
  const auto filled = std::count_if(table.cells.begin(), table.cells.end(), [](const auto& row) {
    return std::count_if(row.begin(), row.end(), [](const std::string& cell) { return !cell.empty(); }) >= 2;
  });
  return static_cast<float>(filled) >= kFilledRows * static_cast<float>(table.cells.size());
}

void append_row(std::string& out, const std::vector<std::string>& cells) {
  out += '|';
  for (const std::string& cell : cells) {
    out.append(" ").append(literal(cell, Place::kCell)).append(" |");
  }
  out += '\n';
}

}  // namespace

Table table_at(const std::vector<Row>& rows, std::size_t first, float letters) {
  Table table;
  const std::size_t run = run_length(rows, first, letters);
  if (run < kTableRowsMin) return table;
  std::size_t count = table_length(rows, first, run, letters);
  const std::size_t above = rows_above(rows, first, run, rivers(rows, first, count, letters).size(), letters);
  if (above > 0) count = std::min(count, above);
  if (count < kTableRowsMin) return table;
  const std::vector<River> cuts = rivers(rows, first, count, letters);
  std::vector<std::string> led;  // of the rows before one that lead on to it
  for (std::size_t i = first; i < first + count; ++i) {
    std::vector<std::string> cells = cells_of(rows[i], cuts);
    if (!led.empty()) cells = joined_cells(std::exchange(led, {}), cells);
    if (i == first || has_cells(rows[i], letters)) {
      table.cells.push_back(std::move(cells));
    } else if (i + 1 < first + count && leads_on(rows, i, letters)) {
      led = std::move(cells);
    } else {
      table.cells.back() = joined_cells(std::move(table.cells.back()), cells);
    }
  }
  if (table.cells.size() >= kTableRowsMin && enough_cells(table)) table.rows = count;
  return table;
}

std::string table_markdown(const Table& table) {
  std::string out;
  append_row(out, table.cells.front());
  append_row(out, std::vector<std::string>(table.cells.front().size(), "---"));
  for (std::size_t i = 1; i < table.cells.size(); ++i) append_row(out, table.cells[i]);
  out.pop_back();
  return out;
}

}  // namespace millrace::engines
