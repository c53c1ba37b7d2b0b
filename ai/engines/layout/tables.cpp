#include "ai/engines/layout/tables.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "ai/engines/layout/literal.h"
#include "ai/engines/layout/markers.h"
#include "ai/engines/layout/number_shape.h"
#include "ai/engines/layout/table_mends.h"

namespace millrace::engines {
namespace {

constexpr float kGap = 1.1F;        // times the letter height: minimum gap between cells
constexpr float kWrapPitch = 1.4F;  // maximum pitch between two lines of one cell
constexpr float kWiderStep =
    1.1F;  // a step between rows exceeds the line distance within a cell by this factor
constexpr std::size_t kWrapMax = 12;  // lines of a cell
constexpr float kOfOneSize = 0.02F;   // of words of one size
constexpr float kSameEnd = 0.25F;     // times the letter height: tolerance for right-aligned amounts

// The word of the row that begins the cell after the one in whose place the line is.
std::optional<std::size_t> between_cells(const Row& line, const Row& row, float letters) {
  for (std::size_t k = 1; k < row.words.size(); ++k) {
    const float left = row.words[k - 1]->box.x1, right = row.words[k]->box.x0;
    if (left + kRiver * letters < line.box.x0 && line.box.x1 + kRiver * letters < right) return k;
  }
  return std::nullopt;
}

// Whether words[k] stands after a value, such as a date or a position, with more than a space between them.
bool follows_value(const Row& row, std::size_t k, float letters) {
  if (k == 0 || row.words[k]->box.x0 - row.words[k - 1]->box.x1 <= kRiver * letters) return false;
  for (std::size_t i = k; i-- > 0;) {
    if (digits_in(row.words[i]->text) > 0) return true;
    if (begins_cell(row, i, letters)) return false;
  }
  return false;
}

// The word of the row that begins the cell above or below the line: the line begins where the cell does and
// ends before the next cell. The gap before the cell may be narrow after a value, which has one line only.
std::optional<std::size_t> aligned_cell(const Row& line, const Row& row, float letters) {
  std::optional<std::size_t> cell;
  for (std::size_t k = 0; k < row.words.size(); ++k) {
    const float x = row.words[k]->box.x0;
    const bool wide = begins_cell(row, k, letters);
    if (!wide && (cell || !follows_value(row, k, letters))) continue;
    if (cell && x > row.words[*cell]->box.x0) return line.box.x1 <= x ? cell : std::nullopt;
    if (std::abs(x - line.box.x0) < (wide ? 0.5F : kSameEnd) * letters) cell = k;
  }
  return cell;
}

// Whether the line is left- or right-aligned with a cell of the row that is an amount.
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

// The nearest row with cells before (-1) or after (1) a line without cells; nullopt: none is near.
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

// Splits the lines between two rows of a table: returns the first line of the lower row. Without a wider
// step, all lines belong to the upper row.
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

// The nearer row with cells, above or below a line without cells.
std::optional<std::size_t> nearest_row(const std::vector<Row>& rows, std::size_t line, float letters) {
  const auto upper = row_with_cells(rows, line, -1, letters), lower = row_with_cells(rows, line, 1, letters);
  const auto row = lower && (!upper || line >= parting(rows, *upper, *lower)) ? lower : upper;
  if (!row || !are_close(rows, std::min(line, *row), std::max(line, *row), letters)) return std::nullopt;
  return row;
}

// Whether the row is in the middle of a cell with an even number of lines: this line and the one at the same
// distance on the other side both lie between two cells of the row.
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

// An amount below an amount of the row, at least as far away as the rows are from each other.
bool is_total(const std::vector<Row>& rows, std::size_t line, std::size_t row, float letters) {
  if (row > line || !is_amount(rows[line].text()) || !is_below_amount(rows[line], rows[row], letters))
    return false;
  const bool rows_above_apart = row == 0 || step_to(rows, row) > kWiderStep * step_to(rows, line);
  const bool last = !row_with_cells(rows, line, 1, letters);
  return !rows_above_apart || !(last || leads_to_wider_step(rows, line, letters));
}

bool continues_cell_of(const std::vector<Row>& rows, std::size_t line, std::size_t row, float letters) {
  auto cell = aligned_cell(rows[line], rows[row], letters);
  if (!cell) cell = cell_about(rows, line, row, letters);
  const bool may_be_first = row < line && leads_to_wider_step(rows, line, letters);
  return cell && (*cell > 0 || may_be_first);
}

}  // namespace

bool begins_cell(const Row& row, std::size_t k, float letters) {
  return k == 0 || row.words[k]->box.x0 - row.words[k - 1]->box.x1 > kGap * letters;
}

bool has_cells(const Row& row, float letters) {
  if (row.figure() || row.words.size() < 2) return false;
  // The gap after a bullet or a number does not separate cells.
  const std::size_t from = is_list_marker(row.words.front()->text) ? 1 : 0;
  std::size_t at = 0;
  return row.widest_gap(at, from) > kGap * letters;
}

// Between words above each other, as a row of a scan may slant.
float step_to(const std::vector<Row>& rows, std::size_t i) {
  const Row &above = rows[i - 1], &row = rows[i];
  const bool narrower = row.box.width() < above.box.width();
  const Box& one = (narrower ? row : above).words.front()->box;
  const auto far = [&](const Word* word) { return std::abs(word->box.middle_x() - one.middle_x()); };
  const Box& other = (*std::ranges::min_element((narrower ? above : row).words, {}, far))->box;
  if (std::abs(one.height() - other.height()) > kOfOneSize * one.height()) return row.box.y0 - above.box.y0;
  return narrower ? one.y0 - other.y0 : other.y0 - one.y0;
}

std::optional<std::size_t> row_of(const std::vector<Row>& rows, std::size_t line, float letters) {
  if (rows[line].figure()) return std::nullopt;
  const auto row = nearest_row(rows, line, letters);
  if (!row) return std::nullopt;
  if (is_total(rows, line, *row, letters)) return line;
  if (continues_cell_of(rows, line, *row, letters)) return row;
  // The row below may be the last line of the row above, beside which an amount stands.
  const auto upper = *row > line ? row_with_cells(rows, line, -1, letters) : std::nullopt;
  const bool above = upper && are_close(rows, *upper, line, letters) &&
                     aligned_cell(rows[line], rows[*row], letters) == std::size_t{0};
  return above && continues_cell_of(rows, line, *upper, letters) ? upper : std::nullopt;
}

namespace {

constexpr std::size_t kTableRowsMin = 3;
constexpr std::size_t kRowsMax = 200;
constexpr std::size_t kRowsAboveMax = 8;  // rows close above a table that do not belong to it
constexpr float kPitchMax = 2.6F;         // rows further apart do not belong together …
constexpr float kEvenMax = 5;             // … unless their distances are even
constexpr float kEvenBy = 0.15F;
constexpr std::size_t kCloseMin = 2;  // rows close to the row above, before a wide step begins a table
constexpr float kFilledRows = 0.6F;   // minimum fraction of rows with two or more cells

bool close_enough(float step, float letters, float& even) {
  if (step <= kPitchMax * letters) return true;
  if (step > kEvenMax * letters) return false;
  if (even == 0) even = step;
  return std::abs(step - even) < kEvenBy * even;
}

// The widest step between two rows and the lines of their cells.
float widest_step(const std::vector<Row>& rows, std::size_t upper, std::size_t lower) {
  float widest = 0;
  for (std::size_t i = upper + 1; i <= lower; ++i) widest = std::max(widest, step_to(rows, i));
  return widest;
}

// Whether a cell of the row begins at `x0` or ends at `x1`.
bool has_cell_at(const Row& row, float x0, float x1, float letters) {
  for (std::size_t k = 0; k < row.words.size(); ++k) {
    const Box& word = row.words[k]->box;
    if (begins_cell(row, k, letters) && std::abs(word.x0 - x0) < letters / 2) return true;
    const bool ends = k + 1 == row.words.size() || begins_cell(row, k + 1, letters);
    if (ends && std::abs(word.x1 - x1) < letters / 2) return true;
  }
  return false;
}

// Whether each cell of a row begins or ends where one of the rows from `first` to `above` does.
bool has_same_columns(const std::vector<Row>& rows, std::size_t first, std::size_t above, const Row& row,
                      float letters) {
  for (std::size_t k = 0, end = 0; k < row.words.size(); k = end) {
    end = k + 1;
    while (end < row.words.size() && !begins_cell(row, end, letters)) ++end;
    const float x0 = row.words[k]->box.x0, x1 = row.words[end - 1]->box.x1;
    const auto from = rows.begin() + static_cast<std::ptrdiff_t>(first);
    const auto to = rows.begin() + static_cast<std::ptrdiff_t>(above) + 1;
    if (std::none_of(from, to, [=](const Row& other) { return has_cell_at(other, x0, x1, letters); }))
      return false;
  }
  return true;
}

bool has_digits(const Row& row) {
  return std::ranges::any_of(row.words, [](const Word* word) { return digits_in(word->text) > 0; });
}

// Whether the row is like a head: it is bold, it repeats the first row, or it has no digits and the next one
// has some.
bool is_like_head(const std::vector<Row>& rows, std::size_t first, std::size_t above, std::size_t i) {
  if (rows[i].bold() && !rows[above].bold()) return true;
  const bool leads = i + 1 < rows.size() && !rows[i + 1].figure() && has_digits(rows[i + 1]);
  return (leads && !has_digits(rows[i])) || rows[i].text() == rows[first].text();
}

// Whether another table begins at the row: the rows from `first` to `above` are close to each other, and it
// is further away, with columns that begin elsewhere or a head of its own. A total may be as far, and so may
// the next group of rows.
bool begins_table(const std::vector<Row>& rows, std::size_t first, std::size_t above, std::size_t i,
                  float letters) {
  if (is_amount(rows[i].words.back()->text)) return false;
  return !has_same_columns(rows, first, above, rows[i], letters) || is_like_head(rows, first, above, i);
}

std::size_t run_length(const std::vector<Row>& rows, std::size_t first, float letters) {
  if (!has_cells(rows[first], letters)) return 0;
  std::size_t end = first + 1;
  std::size_t above = first;  // the last row with cells
  std::size_t close = 0;      // rows that are close to the row above
  float even = 0;
  for (; end < std::min(rows.size(), first + kRowsMax); ++end) {
    if (!has_cells(rows[end], letters)) {
      if (!row_of(rows, end, letters)) break;
      continue;
    }
    const float step = widest_step(rows, above, end);
    const bool apart = close >= kCloseMin && step > kPitchMax * letters;
    if (!close_enough(step, letters, even) || (apart && begins_table(rows, first, above, end, letters)))
      break;
    close += step <= kPitchMax * letters ? 1 : 0;
    above = end;
  }
  while (end > above + 1 && row_of(rows, end - 1, letters).value_or(end) >= end) --end;
  return end - first;
}

// White space from top to bottom between two columns.
struct River {
  float from = 0, to = 0;
};

// Rivers of rows that are added one by one.
class Rivers {
 public:
  explicit Rivers(float letters) : narrowest_(kRiver * letters) {}
  void add(const Row& row);
  std::vector<River> all() const;

 private:
  float narrowest_;
  std::vector<std::array<float, 2>>
      covered_;  // from left to right; adjacent intervals are separated by a river
};

void Rivers::add(const Row& row) {
  for (const Word* word : row.words) covered_.push_back({word->box.x0, word->box.x1});
  std::sort(covered_.begin(), covered_.end());
  std::size_t last = 0;
  for (const auto& span : covered_) {
    if (span[0] - covered_[last][1] > narrowest_) {
      covered_[++last] = span;
    } else {
      covered_[last][1] = std::max(covered_[last][1], span[1]);
    }
  }
  covered_.resize(last + 1);
}

std::vector<River> Rivers::all() const {
  std::vector<River> result;
  for (std::size_t i = 1; i < covered_.size(); ++i) result.push_back({covered_[i - 1][1], covered_[i][0]});
  return result;
}

std::vector<River> rivers(const std::vector<Row>& rows, std::size_t first, std::size_t count, float letters) {
  Rivers result(letters);
  for (std::size_t i = first; i < first + count; ++i) result.add(rows[i]);
  return result.all();
}

// Whether too little of the river stays white when the row is added.
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

// How many rows of the run belong to the table. A line of prose with one wide gap may follow: it closes every
// river, or it closes one and extends past a side of the table.
std::size_t table_length(const std::vector<Row>& rows, std::size_t first, std::size_t run, float letters) {
  float left = rows[first].box.x0;
  float right = rows[first].box.x1;
  Rivers open(letters);
  for (std::size_t count = 1; count < run; ++count) {
    open.add(rows[first + count - 1]);
    const Row& next = rows[first + count];
    const std::vector<River> all = open.all();
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
  std::size_t count = 0;
  for (std::size_t k = 0; k < row.words.size(); ++k) count += begins_cell(row, k, letters) ? 1 : 0;
  return count;
}

// How many rows from `first` on are above the table without belonging to it. The next row has more cells, and
// without the earlier rows there are more columns, because they cover its rivers.
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
  std::vector<Row> cells(all.size() + 1);
  for (const Word* word : row.words) {
    const auto column = std::ranges::count_if(
        all, [&](const River& river) { return (river.from + river.to) / 2 <= word->box.middle_x(); });
    cells[static_cast<std::size_t>(column)].words.push_back(word);
  }
  std::vector<std::string> texts;
  texts.reserve(cells.size());
  for (const Row& cell : cells) texts.push_back(cell.text());
  return texts;
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
    out += ' ';
    for (std::size_t at = 0; at <= cell.size();) {
      const std::size_t end = std::min(cell.find(kCellBreak, at), cell.size());
      out.append(at > 0 ? "<br>" : "").append(literal(cell.substr(at, end - at), Place::kCell));
      at = end + 1;
    }
    out += " |";
  }
  out += '\n';
}

// Removes leading lines before a row that is not part of the table.
std::size_t without_leading_lines(const std::vector<Row>& rows, std::size_t first, std::size_t count,
                                  float letters) {
  const auto leads_out = [&](std::size_t i) {
    return !has_cells(rows[i], letters) && row_of(rows, i, letters).value_or(0) >= first + count;
  };
  while (count > 0 && leads_out(first + count - 1)) --count;
  return count;
}

// Builds rows of cells from lines that are added one by one.
class Cells {
 public:
  Cells(const std::vector<Row>& rows, float letters) : rows_(rows), letters_(letters) {}
  // Adds the `i`th line of the region, cut into cells.
  void add(std::size_t i, std::vector<std::string> cells);
  std::vector<std::vector<std::string>> take() { return std::move(all_); }
  // The number of rows that are more than a total.
  std::size_t whole() const { return whole_; }

 private:
  const std::vector<Row>& rows_;
  float letters_;
  std::vector<std::vector<std::string>> all_;
  std::vector<std::string> led_;  // lines before the row that they belong to
  std::size_t whole_ = 0;
};

void Cells::add(std::size_t i, std::vector<std::string> cells) {
  const bool is_whole = all_.empty() || has_cells(rows_[i], letters_);
  const std::size_t row = is_whole ? i : row_of(rows_, i, letters_).value_or(0);
  if (row < i) {
    all_.back() = joined_cells(std::move(all_.back()), cells);
    return;
  }
  if (!led_.empty()) cells = joined_cells(std::exchange(led_, {}), cells);
  (row > i ? led_ : all_.emplace_back()) = std::move(cells);
  whole_ += is_whole ? 1 : 0;
}

}  // namespace

Table table_at(const std::vector<Row>& rows, std::size_t first, float letters) {
  Table table;
  const std::size_t run = run_length(rows, first, letters);
  if (run < kTableRowsMin) return table;
  std::size_t count = table_length(rows, first, run, letters);
  const std::size_t above = rows_above(rows, first, run, rivers(rows, first, count, letters).size(), letters);
  if (above > 0) count = std::min(count, above);
  count = without_leading_lines(rows, first, count, letters);
  if (count < kTableRowsMin) return table;
  const std::vector<River> cuts = rivers(rows, first, count, letters);
  Cells cells(rows, letters);
  for (std::size_t i = first; i < first + count; ++i) cells.add(i, cells_of(rows[i], cuts));
  table.cells = cells.take();
  for (const River& river : cuts) table.gaps.push_back(river.to - river.from);
  if (cells.whole() < kTableRowsMin || !enough_cells(table)) return table;
  table.rows = count;
  join_split_columns(table);
  join_late_values(table.cells);
  return table;
}

bool ends_on_purpose(const Row& line, const Row& next, float left, float right) {
  constexpr float kShort = 0.75F;  // of the cell's width
  const Word& last = *line.words.back();
  const Word& first = *next.words.front();
  if (!starts_afresh(first.text) || ends_hyphenated(last.text)) return false;
  if (last.box.x1 > left + kShort * (right - left)) return false;
  return last.box.x1 + last.box.height() + first.box.width() < right;
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
