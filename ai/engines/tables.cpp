#include "ai/engines/tables.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "ai/engines/literal.h"
#include "ai/engines/markers.h"

namespace millrace::engines {
namespace {

constexpr std::size_t kTableRowsMin = 3;
constexpr std::size_t kRowsMax = 200;
constexpr float kGap = 1.1F;       // times the letter height: what a row of a table has
constexpr float kRiver = 0.55F;    // the narrowest river between columns
constexpr float kPitchMax = 2.6F;  // rows further apart belong to different things …
constexpr float kEvenMax = 5;      // … unless they are evenly so
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
      if (above + 1 != end || !goes_on(rows, end, letters)) break;
      continue;
    }
    if (!close_enough(rows[end].box.y0 - rows[above].box.y0, letters, even)) break;
    above = end;
  }
  return end - first;
}

// The x positions that divide the run into columns.
std::vector<float> rivers(const std::vector<Row>& rows, std::size_t first, std::size_t count, float letters) {
  std::vector<std::array<float, 2>> spans;
  for (std::size_t i = first; i < first + count; ++i) {
    for (const Word* word : rows[i].words) spans.push_back({word->box.x0, word->box.x1});
  }
  std::sort(spans.begin(), spans.end());
  std::vector<float> result;
  float reach = spans.front()[1];
  for (const auto& [from, to] : spans) {
    if (from - reach > kRiver * letters) result.push_back((from + reach) / 2);
    reach = std::max(reach, to);
  }
  return result;
}

std::size_t crossed(const Row& row, const std::vector<float>& cuts) {
  return static_cast<std::size_t>(std::count_if(cuts.begin(), cuts.end(), [&row](float x) {
    return std::any_of(row.words.begin(), row.words.end(),
                       [x](const Word* word) { return word->box.x0 < x && word->box.x1 > x; });
  }));
}

// How many rows of the run are the table's. A line of prose with one wide gap may follow: it closes every
// river, or one while it stands out on a side.
std::size_t table_length(const std::vector<Row>& rows, std::size_t first, std::size_t run, float letters) {
  float left = rows[first].box.x0;
  float right = rows[first].box.x1;
  for (std::size_t count = 1; count < run; ++count) {
    const Row& next = rows[first + count];
    const std::vector<float> cuts = rivers(rows, first, count, letters);
    const bool stands_out = next.box.x0 < left - letters || next.box.x1 > right + letters;
    const std::size_t closed = crossed(next, cuts);
    if (closed == cuts.size() || (stands_out && closed > 0)) return count;
    left = std::min(left, next.box.x0);
    right = std::max(right, next.box.x1);
  }
  return run;
}

std::vector<std::string> cells_of(const Row& row, const std::vector<float>& cuts) {
  std::vector<std::string> cells(cuts.size() + 1);
  for (const Word* word : row.words) {
    const auto column = std::upper_bound(cuts.begin(), cuts.end(), word->box.middle_x()) - cuts.begin();
    std::string& cell = cells[static_cast<std::size_t>(column)];
    if (!cell.empty()) cell += ' ';
    cell += word->text;
  }
  return cells;
}

void append_cells(std::vector<std::string>& row, const std::vector<std::string>& more) {
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (!more[i].empty()) join_line(row[i], more[i]);
  }
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
  const std::size_t count = table_length(rows, first, run, letters);
  if (count < kTableRowsMin) return table;
  const std::vector<float> cuts = rivers(rows, first, count, letters);
  for (std::size_t i = first; i < first + count; ++i) {
    std::vector<std::string> cells = cells_of(rows[i], cuts);
    if (i == first || has_cells(rows[i], letters)) {
      table.cells.push_back(std::move(cells));
    } else {
      append_cells(table.cells.back(), cells);
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
