#include "ai/engines/table_lines.h"

#include <algorithm>
#include <cmath>

#include "ai/engines/markers.h"

namespace millrace::engines {
namespace {

constexpr float kGap = 1.1F;          // times the letter height: what a row of a table has
constexpr float kWrapPitch = 1.4F;    // a cell's second line is so close below its first
constexpr float kWiderStep = 1.1F;    // than the lines of a cell have: between two rows
constexpr std::size_t kWrapMax = 12;  // lines of a cell
constexpr float kSameEnd = 0.25F;     // times the letter height: amounts that end below each other

// Which word of the row begins the cell after the one that the line stands in.
std::optional<std::size_t> between_cells(const Row& line, const Row& row, float letters) {
  for (std::size_t k = 1; k < row.words.size(); ++k) {
    const float left = row.words[k - 1]->box.x1, right = row.words[k]->box.x0;
    if (left + kRiver * letters < line.box.x0 && line.box.x1 + kRiver * letters < right) return k;
  }
  return std::nullopt;
}

// Which word of the row begins the cell that the line stands below or above: it begins where that does and
// ends before the next.
std::optional<std::size_t> aligned_cell(const Row& line, const Row& row, float letters) {
  std::optional<std::size_t> cell;
  for (std::size_t k = 0; k < row.words.size(); ++k) {
    const float x = row.words[k]->box.x0;
    if (!begins_cell(row, k, letters)) continue;
    if (cell && x > row.words[*cell]->box.x0) return line.box.x1 <= x ? cell : std::nullopt;
    if (std::abs(x - line.box.x0) < letters / 2) cell = k;
  }
  return cell;
}

// Whether the line begins or ends where a cell of the row does that is an amount.
bool is_below_amount(const Row& line, const Row& row, float letters) {
  for (std::size_t k = 1, end = k; k < row.words.size(); k = end) {
    while (++end < row.words.size() && !begins_cell(row, end, letters)) continue;
    const Words words(row.words.begin() + static_cast<std::ptrdiff_t>(k),
                      row.words.begin() + static_cast<std::ptrdiff_t>(end));
    const bool below = std::abs(words.front()->box.x0 - line.box.x0) < letters / 2 ||
                       std::abs(words.back()->box.x1 - line.box.x1) < kSameEnd * letters;
    if (below && begins_cell(row, k, letters) && is_amount(Row{row.box, row.height, words}.text()))
      return true;
  }
  return false;
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

// The row with cells above or below that a line without some is nearer to.
std::optional<std::size_t> nearest_row(const std::vector<Row>& rows, std::size_t line, float letters) {
  const auto upper = row_with_cells(rows, line, -1, letters), lower = row_with_cells(rows, line, 1, letters);
  const auto row = lower && (!upper || line >= parting(rows, *upper, *lower)) ? lower : upper;
  if (!row || !are_close(rows, std::min(line, *row), std::max(line, *row), letters)) return std::nullopt;
  return row;
}

// The row's is the middle of a cell whose lines are even in number: the line stands between two cells of the
// row, and so does the one as far on the other side.
std::optional<std::size_t> cell_about(const std::vector<Row>& rows, std::size_t line, std::size_t row,
                                      float letters) {
  if (line > 2 * row || 2 * row - line >= rows.size()) return std::nullopt;
  const std::size_t other = 2 * row - line;
  const auto cell = between_cells(rows[line], rows[row], letters);
  const bool even = cell && between_cells(rows[other], rows[row], letters) == cell &&
                    nearest_row(rows, other, letters) == row;
  return even ? cell : std::nullopt;
}

bool leads_to_wider_step(const std::vector<Row>& rows, std::size_t line, float letters) {
  const auto lower = row_with_cells(rows, line, 1, letters);
  return lower && step_to(rows, *lower) > kWiderStep * step_to(rows, line);
}

// An amount below one of the row, no closer to it than the rows are to each other.
bool is_total(const std::vector<Row>& rows, std::size_t line, std::size_t row, float letters) {
  if (row > line || !is_amount(rows[line].text()) || !is_below_amount(rows[line], rows[row], letters))
    return false;
  const bool rows_above_apart = row == 0 || step_to(rows, row) > kWiderStep * step_to(rows, line);
  const bool last = !row_with_cells(rows, line, 1, letters);
  return !rows_above_apart || !(last || leads_to_wider_step(rows, line, letters));
}

}  // namespace

bool begins_cell(const Row& row, std::size_t k, float letters) {
  return k == 0 || row.words[k]->box.x0 - row.words[k - 1]->box.x1 > kGap * letters;
}

bool has_cells(const Row& row, float letters) {
  if (row.figure() || row.words.size() < 2) return false;
  // The gap after a bullet or a number is no gap between cells.
  const std::size_t from = is_list_marker(row.words.front()->text) ? 1 : 0;
  std::size_t at = 0;
  return row.widest_gap(at, from) > kGap * letters;
}

float step_to(const std::vector<Row>& rows, std::size_t i) { return rows[i].box.y0 - rows[i - 1].box.y0; }

std::optional<std::size_t> row_of(const std::vector<Row>& rows, std::size_t line, float letters) {
  if (rows[line].figure()) return std::nullopt;
  const auto row = nearest_row(rows, line, letters);
  if (!row) return std::nullopt;
  if (is_total(rows, line, *row, letters)) return line;
  auto cell = aligned_cell(rows[line], rows[*row], letters);
  if (!cell) cell = cell_about(rows, line, *row, letters);
  const bool may_be_first = *row < line && leads_to_wider_step(rows, line, letters);
  return cell && (*cell > 0 || may_be_first) ? row : std::nullopt;
}

}  // namespace millrace::engines
