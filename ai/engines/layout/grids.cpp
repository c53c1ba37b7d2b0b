#include "ai/engines/layout/grids.h"

#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <utility>

#include "ai/engines/layout/markers.h"
#include "ai/engines/layout/rows.h"
#include "ai/engines/layout/tables.h"

namespace millrace::engines {
namespace {

constexpr float kOneLine = 0.5F;      // letter heights: lines closer than this are one line
constexpr float kOpenSide = 1.5F;     // rules that extend this far beyond the last line enclose a cell there
constexpr float kLetterBoxes = 1.8F;  // columns narrower than this on average are boxes for single letters
constexpr float kCellsArea =
    1.01F;  // of the area: cells with missing lines may overlap, and are then not rectangles
constexpr std::size_t kLinesMax = 200;
constexpr std::size_t kRulesMost = 2000;
constexpr float kClearance = 0.2F;  // letter heights on either side of a line
constexpr float kFilledCells = 0.25F;
constexpr std::size_t kFilledRowsMin = 2;
constexpr std::size_t kLabelledMin = 3;  // cells of a row with labels above values
constexpr float kWithLabels = 0.6F;      // of the cells
constexpr float kBodyHeight = 14;  // letter heights of a cell that may be the body of a page inside its frame
constexpr float kBodyPart = 0.4F;  // minimum fraction of the grid

// Positions of lines, some of which are drawn in several pieces.
std::vector<float> merged(std::vector<float> places, float near) {
  std::ranges::sort(places);
  std::vector<float> lines;
  std::size_t count = 0;  // number of positions merged into the last line
  for (const float place : places) {
    if (!lines.empty() && place - lines.back() <= near) {
      ++count;
      lines.back() += (place - lines.back()) / static_cast<float>(count);
    } else {
      lines.push_back(place);
      count = 1;
    }
  }
  return lines;
}

// A frame that is open at its sides ends where the horizontal rules end.
void close_ends(std::vector<float>& lines, float from, float to, float reach) {
  if (from < lines.front() - reach) lines.insert(lines.begin(), from);
  if (to > lines.back() + reach) lines.push_back(to);
}

// The strip between two lines that contains a position.
std::optional<std::size_t> strip_of(const std::vector<float>& lines, float place) {
  if (!(place >= lines.front() && place < lines.back())) return std::nullopt;
  const auto after = std::ranges::upper_bound(lines, place);
  return static_cast<std::size_t>(after - lines.begin()) - 1;
}

float middle(const std::vector<float>& lines, std::size_t strip) {
  return (lines[strip] + lines[strip + 1]) / 2;
}

bool drawn_down(const std::vector<Box>& rules, float x, float y, float near) {
  return std::ranges::any_of(rules, [&](const Box& rule) {
    return rule.x0 - near <= x && x <= rule.x1 + near && rule.y0 <= y && y <= rule.y1;
  });
}

bool drawn_across(const std::vector<Box>& rules, float x, float y, float near) {
  return std::ranges::any_of(rules, [&](const Box& rule) {
    return rule.y0 - near <= y && y <= rule.y1 + near && rule.x0 <= x && x <= rule.x1;
  });
}

using Texts = std::vector<std::vector<std::string>>;

bool is_turned(const Word* word) {
  return word->turn == Orientation::kUp || word->turn == Orientation::kDown;
}

// The words of a cell that all run up or down, as they would stand if they ran across.
std::deque<Word> turned_back(const Words& words) {
  std::deque<Word> level;
  for (const Word* word : words) {
    Word& each = level.emplace_back(*word);
    const Box& box = word->box;
    each.box = word->turn == Orientation::kUp ? Box{-box.y1, box.x0, -box.y0, box.x1}
                                              : Box{box.y0, -box.x1, box.y1, -box.x0};
  }
  return level;
}

// The text of a cell between its sides.
std::string text_of(Words words, float left, float right) {
  std::deque<Word> level;
  if (!words.empty() && std::ranges::all_of(words, is_turned)) {
    level = turned_back(words);
    words.clear();
    for (const Word& word : level) words.push_back(&word);
    left = right = 0;
  }
  std::string text;
  const std::vector<Row> rows = make_rows(std::move(words));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i > 0 && ends_on_purpose(rows[i - 1], rows[i], left, right)) {
      text.append(1, kCellBreak).append(rows[i].text());
    } else {
      join_line(text, rows[i].text());
    }
  }
  return text;
}

bool is_empty(const std::string& text) { return text.empty(); }

std::ptrdiff_t filled(const std::vector<std::string>& row) {
  return std::ranges::count_if(row, [](const std::string& cell) { return !cell.empty(); });
}

void drop_empty_columns(Texts& cells) {
  for (std::size_t column = cells.empty() ? 0 : cells.front().size(); column-- > 0;) {
    const bool empty = std::ranges::all_of(cells, [=](const auto& row) { return row[column].empty(); });
    if (!empty) continue;
    for (auto& row : cells) row.erase(row.begin() + static_cast<std::ptrdiff_t>(column));
  }
}

// Drops rows and columns without content: the white space between double lines.
Texts texts_of(const Grid& grid, const std::vector<std::vector<Words>>& words) {
  const std::vector<float>& lines = grid.columns_at();
  std::vector<std::vector<float>> rights(words.size(), {lines.begin() + 1, lines.end()});
  for (const auto& [cell, box] : grid.cells()) rights[cell.row][cell.column] = box.x1;
  Texts cells;
  for (std::size_t row = 0; row < words.size(); ++row) {
    std::vector<std::string>& texts = cells.emplace_back();
    for (std::size_t column = 0; column < words[row].size(); ++column)
      texts.push_back(text_of(words[row][column], lines[column], rights[row][column]));
    if (std::ranges::all_of(texts, is_empty)) cells.pop_back();
  }
  drop_empty_columns(cells);

  return cells;
}

bool is_table(const Texts& cells) {
  if (cells.size() < kFilledRowsMin || cells.front().size() < 2) return false;
  std::ptrdiff_t all = 0, full_rows = 0;
  for (const auto& row : cells) {
    all += filled(row);
    if (filled(row) >= 2) ++full_rows;
  }
  const auto squares = static_cast<float>(cells.size() * cells.front().size());
  return full_rows >= static_cast<std::ptrdiff_t>(kFilledRowsMin) &&
         static_cast<float>(all) >= kFilledCells * squares;
}

// A row of boxes, most of which hold a label above its value.
bool is_row_of_labels(const Texts& cells) {
  if (cells.size() != 1 || cells.front().size() < kLabelledMin) return false;
  std::size_t labelled = 0;
  for (const std::string& cell : cells.front()) {
    const auto breaks = std::ranges::count(cell, kCellBreak);
    if (breaks > 1) return false;
    if (breaks == 1) ++labelled;
  }
  return static_cast<float>(labelled) >= kWithLabels * static_cast<float>(cells.front().size());
}

bool is_in(const Grid& grid, const Word& word) {
  return !word.figure && grid.cell_at(word.box.middle_x(), word.box.middle_y());
}

// Whether the words leave so much white space at a line's position that the line may just not be drawn.
bool keep_clear_of(const Words& words, float line, float letters) {
  return std::ranges::none_of(words, [=](const Word* word) {
    return word->box.x0 < line + kClearance * letters && word->box.x1 > line - kClearance * letters;
  });
}

// The header of a table is often filled, without lines between its columns.
void part_cells(const Grid& grid, float letters, std::vector<std::vector<Words>>& inside) {
  for (const Grid::CellBox& box : grid.cells()) {
    const std::vector<float> lines = grid.lines_through(box);
    std::vector<Words>& row = inside[box.cell.row];
    const auto stays = [&](float line) { return !keep_clear_of(row[box.cell.column], line, letters); };
    if (std::ranges::any_of(lines, stays)) continue;
    for (const Word* word : std::exchange(row[box.cell.column], {})) {
      const auto before =
          std::ranges::count_if(lines, [=](float line) { return line < word->box.middle_x(); });
      row[box.cell.column + static_cast<std::size_t>(before)].push_back(word);
    }
  }
}

Texts texts_in(const Grid& grid, const PageText& page) {
  std::vector<std::vector<Words>> inside(grid.rows(), std::vector<Words>(grid.columns()));
  for (const Word& word : page.words) {
    if (!is_in(grid, word)) continue;
    const auto cell = *grid.cell_at(word.box.middle_x(), word.box.middle_y());
    inside[cell.row][cell.column].push_back(&word);
  }
  part_cells(grid, page.letters, inside);
  return texts_of(grid, inside);
}

void replace_words(const Grid& grid, const Texts& cells, PageText& page) {
  std::erase_if(page.words, [&](const Word& word) { return is_in(grid, word); });
  if (cells.empty()) return;
  page.words.push_back({.box = grid.box(), .text = table_markdown({cells.size(), cells}), .figure = true});
}

bool is_drawing(const Grid& grid, const std::vector<Word>& words) {
  const auto all = std::ranges::count_if(words, [&](const Word& word) { return is_in(grid, word); });
  const auto good = std::ranges::count_if(words, [&](const Word& word) {
    return is_in(grid, word) && (has_letter_or_digit(word.text) || is_content_symbol(word.text));
  });
  return all == 0 || 2 * good < all;
}

}  // namespace

std::optional<Grid> Grid::of(const std::vector<Box>& across, const std::vector<Box>& down, float letters,
                             std::size_t rows_min) {
  if (across.size() + down.size() > kRulesMost) return std::nullopt;
  std::vector<float> xs, ys;
  for (const Box& rule : down) xs.push_back(rule.middle_x());
  for (const Box& rule : across) ys.push_back(rule.middle_y());
  const float near = kOneLine * letters;
  Grid grid(merged(std::move(xs), near), merged(std::move(ys), near));
  if (grid.xs_.empty() || grid.ys_.empty()) return std::nullopt;
  const auto left = std::ranges::min(across, {}, &Box::x0).x0,
             right = std::ranges::max(across, {}, &Box::x1).x1;
  const auto top = std::ranges::min(down, {}, &Box::y0).y0, bottom = std::ranges::max(down, {}, &Box::y1).y1;
  close_ends(grid.xs_, left, right, kOpenSide * letters);
  close_ends(grid.ys_, top, bottom, kOpenSide * letters);
  if (grid.xs_.size() < 3 || grid.ys_.size() < rows_min + 1) return std::nullopt;
  if (grid.xs_.size() > kLinesMax || grid.ys_.size() > kLinesMax) return std::nullopt;
  const float width = grid.box().width() / static_cast<float>(grid.columns());
  if (width < kLetterBoxes * letters) return std::nullopt;
  grid.find_cells(across, down, near);
  return grid.cells_lie_apart() ? std::optional(std::move(grid)) : std::nullopt;
}

void Grid::find_cells(const std::vector<Box>& across, const std::vector<Box>& down, float near) {
  for (std::size_t row = 0; row < rows(); ++row) {
    for (std::size_t column = 0; column < columns(); ++column) {
      const float x = middle(xs_, column), y = middle(ys_, row);
      Cell cell{row, column};
      if (column > 0 && !drawn_down(down, xs_[column], y, near)) {
        cell = cells_.back();
      } else if (row > 0 && !drawn_across(across, x, ys_[row], near)) {
        cell = cells_[cells_.size() - columns()];
      }
      cells_.push_back(cell);
    }
  }
}

bool Grid::cells_lie_apart() const {
  float area = 0;
  for (const CellBox& cell : cells()) area += cell.box.width() * cell.box.height();
  return area <= kCellsArea * box().width() * box().height();
}

void Grid::move(float across, float down) {
  for (float& x : xs_) x += across;
  for (float& y : ys_) y += down;
}

void Grid::scale(float factor) {
  for (float& x : xs_) x *= factor;
  for (float& y : ys_) y *= factor;
}

std::optional<Grid::Cell> Grid::cell_at(float x, float y) const {
  const auto column = strip_of(xs_, x), row = strip_of(ys_, y);
  if (!column || !row) return std::nullopt;
  return cells_[*row * columns() + *column];
}

std::vector<Grid::CellBox> Grid::cells() const {
  std::vector<CellBox> all;
  std::vector<std::size_t> where(cells_.size());  // of the square where a cell begins: its index in `all`
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    const std::size_t row = i / columns(), column = i % columns();
    const Box square{xs_[column], ys_[row], xs_[column + 1], ys_[row + 1]};
    const std::size_t begin = cells_[i].row * columns() + cells_[i].column;
    if (begin == i) {
      where[i] = all.size();
      all.push_back({cells_[i], square});
    } else {
      Box& box = all[where[begin]].box;
      box = united(box, square);
    }
  }
  return all;
}

std::vector<float> Grid::lines_through(const CellBox& cell) const {
  std::vector<float> lines;
  std::ranges::copy_if(xs_, std::back_inserter(lines),
                       [&](float x) { return x > cell.box.x0 && x < cell.box.x1; });
  return lines;
}

bool Grid::has_body(float letters) const {
  const float all = box().width() * box().height();
  return std::ranges::any_of(cells(), [=](const CellBox& cell) {
    return cell.box.height() > kBodyHeight * letters &&
           cell.box.width() * cell.box.height() > kBodyPart * all;
  });
}

std::vector<Box> set_tables(const std::vector<Grid>& grids, PageText& page) {
  std::vector<Box> drawings;
  Words all;
  for (const Word& word : page.words) all.push_back(&word);
  if (!grids.empty()) page.letters = body_letters(all);
  for (const Grid& grid : grids) {
    const bool drawing = is_drawing(grid, page.words);
    const Texts cells = drawing ? Texts() : texts_in(grid, page);
    if (!drawing && !is_table(cells) && !is_row_of_labels(cells)) continue;
    if (drawing) drawings.push_back(grid.box());
    replace_words(grid, cells, page);
  }
  return drawings;
}

namespace {

// In letter heights.
constexpr float kConnected = 0.25F;  // rules this close to each other are connected
constexpr float kWidthMin = 7;
constexpr float kHeightMin = 2.5F;
constexpr float kRowHeightMin = 1.8F;  // of a grid of one row
constexpr float kWideGap = 0.7F;
constexpr float kThrough = 0.3F;      // a word that extends this far on both sides of a line is crossed by it
constexpr float kCrossedMost = 0.1F;  // of the words
constexpr int kWideGapsMin = 2;
constexpr std::size_t kGridsMost = 64;

// Sets of rules that are connected with each other.
class Frames {
 public:
  Frames(const Rules& rules, float near) : rules_(rules), of_(rules.across.size() + rules.down.size()) {
    for (std::size_t i = 0; i < of_.size(); ++i) of_[i] = i;
    for (std::size_t i = 0; i < rules.across.size(); ++i) {
      for (std::size_t k = 0; k < rules.down.size(); ++k) {
        if (touch(rules.across[i], rules.down[k], near)) of_[root(i)] = root(rules.across.size() + k);
      }
    }
  }

  std::vector<Rules> all() {
    std::vector<Rules> frames;
    std::vector<std::size_t> where(of_.size(), of_.size());
    for (std::size_t i = 0; i < of_.size(); ++i) {
      std::size_t& at = where[root(i)];
      if (at == of_.size()) {
        at = frames.size();
        frames.emplace_back();
      }
      const bool across = i < rules_.across.size();
      auto& rules = across ? frames[at].across : frames[at].down;
      rules.push_back(across ? rules_.across[i] : rules_.down[i - rules_.across.size()]);
    }
    return frames;
  }

 private:
  static bool touch(const Box& a, const Box& b, float near) {
    return a.x0 <= b.x1 + near && b.x0 <= a.x1 + near && a.y0 <= b.y1 + near && b.y0 <= a.y1 + near;
  }

  std::size_t root(std::size_t i) {
    while (of_[i] != i) i = of_[i] = of_[of_[i]];
    return i;
  }

  const Rules& rules_;
  std::vector<std::size_t> of_;  // a rule of the same set; itself for one rule of each set
};

float area(const Grid& grid) { return grid.box().width() * grid.box().height(); }

// Whether a line is drawn through many of the words, or many do not run from left to right.
bool fits_badly(const Grid& grid, const PageText& page, float letters) {
  std::map<std::pair<std::size_t, std::size_t>, Box> cells;
  for (const Grid::CellBox& each : grid.cells()) cells[{each.cell.row, each.cell.column}] = each.box;
  std::ptrdiff_t all = 0, bad = 0;
  for (const Word& word : page.words) {
    if (!is_in(grid, word)) continue;
    ++all;
    if (word.leftwards || word.turn == Orientation::kOver) return true;
    const auto at = *grid.cell_at(word.box.middle_x(), word.box.middle_y());
    const Box& cell = cells.at({at.row, at.column});
    const float reach = kThrough * letters;
    if (word.turn != Orientation::kNone && (word.box.y0 + reach < cell.y0 || word.box.y1 - reach > cell.y1)) {
      return true;
    }
    if (word.box.x0 + reach < cell.x0 || word.box.x1 - reach > cell.x1) ++bad;
  }
  return static_cast<float>(bad) > kCrossedMost * static_cast<float>(all);
}

}  // namespace

std::vector<Grid> grids_of(const Rules& rules, float letters, std::size_t rows_min) {
  std::vector<Grid> grids;
  if (rules.across.size() + rules.down.size() > kRulesMost) return grids;
  std::size_t tables = 0, lone_rows = 0;
  for (const Rules& frame : Frames(rules, kConnected * letters).all()) {
    auto grid = Grid::of(frame.across, frame.down, letters, rows_min);
    if (!grid) continue;
    std::size_t& count = grid->rows() > 1 ? tables : lone_rows;
    if (count == kGridsMost) continue;
    const Box box = grid->box();
    const float lowest = grid->rows() > 1 ? kHeightMin : kRowHeightMin;
    const bool large = box.width() >= kWidthMin * letters && box.height() >= lowest * letters;
    if (!large || grid->has_body(letters)) continue;
    ++count;
    grids.push_back(*std::move(grid));
  }
  std::ranges::sort(grids, {}, area);
  return grids;
}

bool may_hold_tables(const PageText& page) {
  Words words;
  for (const Word& word : page.words) words.push_back(&word);
  const float letters = body_letters(words);
  std::ranges::sort(words, {}, [](const Word* word) { return word->box.middle_y(); });
  int gaps = 0;
  for (auto first = words.begin(), end = first; first != words.end(); first = end) {
    while (end != words.end() && (*end)->box.middle_y() - (*first)->box.middle_y() < kOneLine * letters)
      ++end;
    std::sort(first, end, [](const Word* a, const Word* b) { return a->box.x0 < b->box.x0; });
    for (auto word = first + 1; word < end; ++word) {
      if ((*word)->box.x0 - word[-1]->box.x1 <= kWideGap * letters) continue;
      ++gaps;
      break;
    }
    if (gaps == kWideGapsMin) return true;
  }
  return false;
}

std::vector<Box> set_ruled_tables(const Rules& rules, PageText& page) {
  Words all;
  for (const Word& word : page.words) all.push_back(&word);
  const float letters = body_letters(all);
  std::vector<Box> rest = rules.across;
  for (const Grid& grid : grids_of(rules, letters, 1)) {
    if (fits_badly(grid, page, letters)) continue;
    page.letters = letters;  // few words may remain
    const Texts cells = texts_in(grid, page);
    if (!is_table(cells) && !is_row_of_labels(cells)) continue;
    replace_words(grid, cells, page);
    const Box box = grid.box();
    std::erase_if(rest, [&](const Box& rule) {
      return rule.middle_y() > box.y0 - letters / 2 && rule.middle_y() < box.y1 + letters / 2 &&
             rule.middle_x() > box.x0 && rule.middle_x() < box.x1;
    });
  }
  return rest;
}

}  // namespace millrace::engines
