#include "ai/engines/tables.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
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
constexpr float kWrapPitch = 1.4F;    // a cell's second line is so close below its first
constexpr float kWiderStep = 1.1F;    // than the lines of a cell have: between two rows
constexpr std::size_t kWrapMax = 12;  // lines of a cell
constexpr float kFilledRows = 0.6F;   // part of the rows that has two cells or more

bool has_cells(const Row& row, float letters) {
  if (row.figure() || row.words.size() < 2) return false;
  // The gap after a bullet or a number is no gap between cells.
  const std::size_t from = is_list_marker(row.words.front()->text) ? 1 : 0;
  std::size_t at = 0;
  return row.widest_gap(at, from) > kGap * letters;
}

// The line stands between two cells of the row: theirs is the middle of a cell whose lines are even in
// number.
std::optional<std::size_t> between_cells(const Row& line, const Row& row, float letters) {
  for (std::size_t k = 1; k < row.words.size(); ++k) {
    const float left = row.words[k - 1]->box.x1, right = row.words[k]->box.x0;
    if (left + kRiver * letters < line.box.x0 && line.box.x1 + kRiver * letters < right) return k;
  }
  return std::nullopt;
}

// Which word of the row begins the cell that the line goes on with: it begins where that does and ends before
// the next.
std::optional<std::size_t> cell_of(const Row& line, const Row& row, float letters) {
  std::optional<std::size_t> cell;
  for (std::size_t k = 0; k < row.words.size(); ++k) {
    const float x = row.words[k]->box.x0;
    if (k > 0 && x - row.words[k - 1]->box.x1 <= kGap * letters) continue;
    if (cell && x > row.words[*cell]->box.x0) return line.box.x1 <= x ? cell : std::nullopt;
    if (std::abs(x - line.box.x0) < letters / 2) cell = k;
  }
  return cell ? cell : between_cells(line, row, letters);
}

// The nearest row with cells before (-1) or after (1) a line that has none; nullopt: it is not near.
std::optional<std::size_t> row_with_cells(const std::vector<Row>& rows, std::size_t line, int way,
                                          float letters) {
  std::size_t i = line;
  for (std::size_t lines = 0; lines < kWrapMax; ++lines) {
    if (way < 0 ? i == 0 : i + 1 == rows.size()) return std::nullopt;
    i = way < 0 ? i - 1 : i + 1;
    if (rows[i].figure()) return std::nullopt;
    if (has_cells(rows[i], letters)) return i;
  }
  return std::nullopt;
}

float step_to(const std::vector<Row>& rows, std::size_t i) { return rows[i].box.y0 - rows[i - 1].box.y0; }

// Where the lines between two rows of a table part: the first that is the lower one's. Without a wider step
// all are the upper one's.
std::size_t parting(const std::vector<Row>& rows, std::size_t upper, std::size_t lower) {
  std::size_t widest = lower;
  float narrowest = step_to(rows, lower);
  for (std::size_t i = upper + 1; i < lower; ++i) {
    if (step_to(rows, i) > step_to(rows, widest)) widest = i;
    narrowest = std::min(narrowest, step_to(rows, i));
  }
  return step_to(rows, widest) > kWiderStep * narrowest ? widest : lower;
}

bool are_close(const std::vector<Row>& rows, std::size_t first, std::size_t last, float letters) {
  for (std::size_t i = first + 1; i <= last; ++i) {
    if (step_to(rows, i) > kWrapPitch * letters) return false;
  }
  return true;
}

// The row of a table that a line without cells is of: one of its cells has several lines, of which the others
// of the row may stand beside the first or the last. In the first column it may not be the last of the table,
// for so begins the text after it, too.
std::optional<std::size_t> row_of(const std::vector<Row>& rows, std::size_t line, float letters) {
  if (rows[line].figure()) return std::nullopt;
  const auto upper = row_with_cells(rows, line, -1, letters), lower = row_with_cells(rows, line, 1, letters);
  const bool is_lower = lower && (!upper || line >= parting(rows, *upper, *lower));
  const auto row = is_lower ? lower : upper;
  if (!row || !are_close(rows, std::min(line, *row), std::max(line, *row), letters)) return std::nullopt;
  const auto cell = cell_of(rows[line], rows[*row], letters);
  const bool may_be_first = !is_lower && lower && parting(rows, *upper, *lower) > line &&
                            step_to(rows, *lower) > kWiderStep * step_to(rows, line);
  return cell && (*cell > 0 || may_be_first) ? row : std::nullopt;
}

bool close_enough(float step, float letters, float& even) {
  if (step <= kPitchMax * letters) return true;
  if (step > kEvenMax * letters) return false;
  if (even == 0) even = step;
  return std::abs(step - even) < kEvenBy * even;
}

// Between two rows and the lines of their cells.
float widest_step(const std::vector<Row>& rows, std::size_t upper, std::size_t lower) {
  float widest = 0;
  for (std::size_t i = upper + 1; i <= lower; ++i) widest = std::max(widest, step_to(rows, i));
  return widest;
}

std::size_t run_length(const std::vector<Row>& rows, std::size_t first, float letters) {
  if (!has_cells(rows[first], letters)) return 0;
  std::size_t end = first + 1;
  std::size_t above = first;  // the last row that has cells
  float even = 0;
  for (; end < std::min(rows.size(), first + kRowsMax); ++end) {
    if (!has_cells(rows[end], letters)) {
      if (!row_of(rows, end, letters)) break;
      continue;
    }
    if (!close_enough(widest_step(rows, above, end), letters, even)) break;
    above = end;
  }
  while (end > above + 1 && row_of(rows, end - 1, letters).value_or(end) >= end) --end;
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
  std::vector<std::string> led;  // lines before the row that they are of
  for (std::size_t i = first; i < first + count; ++i) {
    std::vector<std::string> cells = cells_of(rows[i], cuts);
    const bool is_row = i == first || has_cells(rows[i], letters);
    if (is_row || row_of(rows, i, letters).value_or(0) > i) {
      if (!led.empty()) cells = joined_cells(std::exchange(led, {}), cells);
      if (is_row) {
        table.cells.push_back(std::move(cells));
      } else {
        led = std::move(cells);
      }
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
