#include "ai/engines/tables.h"

#include <algorithm>
#include <array>

#include "ai/engines/markers.h"

namespace millrace::engines {
namespace {

constexpr std::size_t kRowsMin = 3;
constexpr std::size_t kRowsMax = 200;
constexpr float kGap = 1.1F;         // times the letter height: what a row of a table has
constexpr float kRiver = 0.55F;      // the narrowest river between columns
constexpr float kPitchMax = 2.6F;    // rows further apart belong to different things
constexpr float kFilledRows = 0.6F;  // part of the rows that has two cells or more

bool has_cells(const Row& row, float letters) {
  if (row.figure() || row.words.size() < 2) return false;
  // The gap after a bullet or a number is no gap between cells.
  const std::size_t from = is_list_marker(row.words.front()->text) ? 1 : 0;
  std::size_t at = 0;
  return row.widest_gap(at, from) > kGap * letters;
}

std::size_t run_length(const std::vector<Row>& rows, std::size_t first, float letters) {
  std::size_t end = first;
  while (end < std::min(rows.size(), first + kRowsMax) && has_cells(rows[end], letters)) {
    if (end > first && rows[end].box.y0 - rows[end - 1].box.y0 > kPitchMax * letters) break;
    ++end;
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

// The longest beginning of the run that rivers run through: a line of prose with one wide gap may follow the
// last row.
std::size_t length_with_rivers(const std::vector<Row>& rows, std::size_t first, std::size_t count,
                               float letters) {
  std::size_t good = 0;
  std::size_t bad = count + 1;
  for (std::size_t length = count; good + 1 < bad; length = (good + bad) / 2) {
    (rivers(rows, first, length, letters).empty() ? bad : good) = length;
  }
  return good;
}

// A last row that stands out on a side and closes rivers is prose below the table.
bool last_is_prose(const std::vector<Row>& rows, std::size_t first, std::size_t count, float letters) {
  float left = rows[first].box.x0;
  float right = rows[first].box.x1;
  for (std::size_t i = first; i + 1 < first + count; ++i) {
    left = std::min(left, rows[i].box.x0);
    right = std::max(right, rows[i].box.x1);
  }
  const Box& last = rows[first + count - 1].box;
  const bool stands_out = last.x0 < left - letters || last.x1 > right + letters;
  return stands_out &&
         rivers(rows, first, count - 1, letters).size() > rivers(rows, first, count, letters).size();
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

bool enough_cells(const Table& table) {
  const auto filled = std::count_if(table.cells.begin(), table.cells.end(), [](const auto& row) {
    return std::count_if(row.begin(), row.end(), [](const std::string& cell) { return !cell.empty(); }) >= 2;
  });
  return static_cast<float>(filled) >= kFilledRows * static_cast<float>(table.cells.size());
}

void append_row(std::string& out, const std::vector<std::string>& cells) {
  out += '|';
  for (const std::string& cell : cells) {
    out += ' ';
    for (const char c : cell) {
      if (c == '|') out += '\\';
      out += c;
    }
    out += " |";
  }
  out += '\n';
}

}  // namespace

Table table_at(const std::vector<Row>& rows, std::size_t first, float letters) {
  Table table;
  const std::size_t run = run_length(rows, first, letters);
  if (run < kRowsMin) return table;
  std::size_t count = length_with_rivers(rows, first, run, letters);
  while (count > kRowsMin && last_is_prose(rows, first, count, letters)) --count;
  if (count < kRowsMin) return table;
  const std::vector<float> cuts = rivers(rows, first, count, letters);
  for (std::size_t i = first; i < first + count; ++i) table.cells.push_back(cells_of(rows[i], cuts));
  if (enough_cells(table)) table.rows = count;
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
