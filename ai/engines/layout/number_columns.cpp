#include "ai/engines/layout/number_columns.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <functional>
#include <string>
#include <utility>

#include "ai/engines/layout/markers.h"
#include "ai/engines/layout/number_shape.h"

namespace millrace::engines {
namespace {

constexpr std::size_t kNumbersMin = 3;
constexpr float kNumbersPart = 0.6F;  // of the cells of a column
constexpr std::size_t kUnitMost = 3;  // letters of a unit
constexpr std::size_t kNumberMost = 24;
constexpr std::size_t kColumnsOfPageMost = 200;
constexpr float kSharedPart = 0.5F;  // of the narrower text: two texts are below each other

// In letter heights.
constexpr float kNextNumber = 8;  // to the next number of a column
constexpr float kNextLine = 2.6F;
constexpr float kSameStart = 0.5F;
constexpr float kBesideColumn = 0.3F;
constexpr float kNextOfCell = 1.7F;
constexpr std::size_t kHeadLinesMost = 3;
constexpr std::size_t kLinesOfCellMost = 8;

float shared(const Box& a, float x0, float x1) { return std::min(a.x1, x1) - std::max(a.x0, x0); }

bool are_below(const Box& a, float x0, float x1) {
  return shared(a, x0, x1) > kSharedPart * std::min(a.width(), x1 - x0);
}

Box box_of_chunk(const TextLine& line, const Chunk& chunk) {
  return {chunk.x0, line.top, chunk.x1, line.bottom};
}

// Digits with signs and at most a unit.
bool is_like_number(const std::string& text) {
  if (text.size() > kNumberMost) return false;
  if (is_amount(text)) return true;
  std::size_t digits = 0, letters = 0;
  for (const unsigned char c : text) {
    digits += std::isdigit(c) != 0 ? 1 : 0;
    letters += std::isalpha(c) != 0 ? 1 : 0;
  }
  return digits > 0 && letters <= kUnitMost && letters <= digits + 1;
}

bool begins_item(const TextLine& line, std::size_t chunk) {
  const std::string text = line.chunks[chunk].row.text();
  return chunk == 0 && is_list_marker(text);
}

void add_number(std::size_t at, const std::vector<TextLine>& lines, const Chunk& chunk, bool number,
                float letters, std::vector<NumberColumn>& columns) {
  const TextLine& line = lines[at];
  ColumnCell cell{at, box_of_chunk(line, chunk), chunk.row.words, number};
  for (auto column = columns.rbegin(); column != columns.rend(); ++column) {
    const ColumnCell& last = column->cells.back();
    if (last.line == at || line.y - lines[last.line].y > kNextNumber * letters) continue;
    if (!are_below(cell.box, last.box.x0, last.box.x1)) continue;
    column->x0 = std::min(column->x0, chunk.x0);
    column->x1 = std::max(column->x1, chunk.x1);
    column->cells.push_back(std::move(cell));
    return;
  }
  if (columns.size() < kColumnsOfPageMost) columns.push_back({chunk.x0, chunk.x1, {std::move(cell)}});
}

// Adds the texts of the column that are no numbers.
void add_others(const std::vector<TextLine>& lines, float letters, NumberColumn& column) {
  const std::size_t first = column.cells.front().line, last = column.cells.back().line;
  std::vector<ColumnCell> others;
  for (std::size_t i = first; i <= last; ++i) {
    if (std::ranges::find(column.cells, i, &ColumnCell::line) != column.cells.end()) continue;
    for (const Chunk& chunk : lines[i].chunks) {
      const Box box = box_of_chunk(lines[i], chunk);
      if (are_below(box, column.x0, column.x1) && box.width() < column.x1 - column.x0 + letters)
        others.push_back({i, box, chunk.row.words, false});
    }
  }
  column.cells.insert(column.cells.end(), others.begin(), others.end());
  std::ranges::stable_sort(column.cells, {}, &ColumnCell::line);
}

bool has_numbers(const NumberColumn& column) {
  const auto numbers = std::ranges::count(column.cells, true, &ColumnCell::number);
  return static_cast<float>(numbers) >= kNumbersPart * static_cast<float>(column.cells.size());
}

// Lines of a table, as indices.
struct Rows {
  std::size_t first = 0, last = 0;
  float x0 = 0, x1 = 0;
};

// The lines of the column and their extent.
Rows rows_beside(const NumberColumn& column, const std::vector<TextLine>& lines) {
  Rows rows{column.cells.front().line, column.cells.back().line, column.x0, column.x1};
  for (const ColumnCell& cell : column.cells) {
    rows.x0 = std::min(rows.x0, lines[cell.line].chunks.front().x0);
    rows.x1 = std::max(rows.x1, lines[cell.line].chunks.back().x1);
  }
  return rows;
}

// Adds the head above the numbers and the last lines of the cells below them.
void extend(const std::vector<TextLine>& lines, float letters, Rows& rows) {
  for (std::size_t heads = 0; rows.first > 0 && heads < kHeadLinesMost; ++heads) {
    const TextLine& above = lines[rows.first - 1];
    if (above.chunks.size() < 2 || lines[rows.first].y - above.y > kNextLine * letters) break;
    rows.x0 = std::min(rows.x0, above.chunks.front().x0);
    rows.x1 = std::max(rows.x1, above.chunks.back().x1);
    --rows.first;
  }
  for (std::size_t more = 0; rows.last + 1 < lines.size() && more < kLinesOfCellMost; ++more) {
    const TextLine& below = lines[rows.last + 1];
    const bool inside = below.chunks.front().x0 > rows.x0 + letters && below.chunks.back().x1 < rows.x1;
    if (!inside || below.y - lines[rows.last].y > kNextOfCell * letters) break;
    ++rows.last;
  }
}

bool overlap(const Box& a, const Box& b) { return a.x0 < b.x1 && b.x0 < a.x1 && a.y0 < b.y1 && b.y0 < a.y1; }

// Unites the regions that overlap.
void unite(std::vector<TableRegion>& regions) {
  for (bool again = true; again;) {
    again = false;
    for (std::size_t i = 0; i < regions.size(); ++i) {
      for (std::size_t k = regions.size(); k-- > i + 1;) {
        if (!overlap(regions[i].box, regions[k].box)) continue;
        regions[i].box = united(regions[i].box, regions[k].box);
        regions[i].columns.insert(regions[i].columns.end(), regions[k].columns.begin(),
                                  regions[k].columns.end());
        regions.erase(regions.begin() + static_cast<std::ptrdiff_t>(k));
        again = true;
      }
    }
  }
}

Box box_of_column(const NumberColumn& column, const std::vector<TextLine>& lines, float letters) {
  return {column.x0 - kBesideColumn * letters, lines[column.cells.front().line].top,
          column.x1 + kBesideColumn * letters, lines[column.cells.back().line].bottom};
}

constexpr float kAboveRegion = 0.2F;  // letter heights: the height of a line is an estimate

}  // namespace

std::string ColumnCell::text() const { return Row{box, box.height(), words}.text(); }

std::vector<TextLine> lines_of_page(const PageText& page, float letters) {
  Words words;
  for (const Word& word : page.words) {
    if (!word.figure && !word.leftwards && word.turn == Orientation::kNone) words.push_back(&word);
  }
  auto lines = lines_of(std::move(words), kTextsApart * letters);
  std::erase_if(lines, [](const TextLine& line) { return line.chunks.empty(); });
  return lines;
}

std::vector<NumberColumn> number_columns(const std::vector<TextLine>& lines, float letters) {
  std::vector<NumberColumn> columns;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const TextLine& line = lines[i];
    for (std::size_t k = 0; k < line.chunks.size() && line.chunks.size() > 1; ++k) {
      if (is_like_number(line.chunks[k].row.text()) && !begins_item(line, k))
        add_number(i, lines, line.chunks[k], true, letters, columns);
    }
  }
  std::erase_if(columns, [](const NumberColumn& column) { return column.cells.size() < kNumbersMin; });
  for (NumberColumn& column : columns) add_others(lines, letters, column);
  std::erase_if(columns, [](const NumberColumn& column) { return !has_numbers(column); });
  return columns;
}

namespace {

constexpr float kAlikePart = 0.8F;  // of the cells of a column

bool is_cell_of(const NumberColumn& column, std::size_t line, const Chunk& chunk) {
  return std::ranges::any_of(column.cells, [&](const ColumnCell& cell) {
    return cell.line == line && cell.words.front() == chunk.row.words.front();
  });
}

bool may_be_misread_throughout(const NumberColumn& column) {
  std::vector<std::string> texts;
  for (const ColumnCell& cell : column.cells) texts.push_back(cell.text());
  const auto all = static_cast<float>(texts.size());
  // A word of letters that are like digits, such as "OK", may be repeated in all cells.
  const auto with_digits = static_cast<std::size_t>(std::ranges::count_if(
      texts, [](const std::string& text) { return digits_in(text) > 0 || !has_whole_brackets(text); }));
  const std::string unit = unit_of_misread(texts);
  const auto alike = std::ranges::count_if(
      texts, [&](const std::string& text) { return is_misread_number(text, unit) || digits_in(text) > 0; });
  const bool differ = std::ranges::adjacent_find(texts, std::not_equal_to()) != texts.end();
  const bool has_digits = unit.empty() ? 2 * with_digits >= texts.size() : with_digits > 0 || differ;
  return texts.size() >= kNumbersMin && static_cast<float>(alike) >= kAlikePart * all && has_digits;
}

}  // namespace

std::vector<NumberColumn> misread_columns(const std::vector<TextLine>& lines, float letters,
                                          const std::vector<NumberColumn>& known) {
  std::vector<NumberColumn> columns;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const TextLine& line = lines[i];
    for (std::size_t k = 0; k < line.chunks.size() && line.chunks.size() > 1; ++k) {
      const Chunk& chunk = line.chunks[k];
      const std::string text = chunk.row.text();
      const bool number = is_like_number(text);
      if (is_list_marker(text) || !(number || begins_like_number(text))) continue;
      const auto holds = [&](const NumberColumn& column) { return is_cell_of(column, i, chunk); };
      if (std::ranges::any_of(known, holds)) continue;
      add_number(i, lines, chunk, number, letters, columns);
    }
  }
  for (NumberColumn& column : columns) add_others(lines, letters, column);
  std::erase_if(columns, [](const NumberColumn& column) { return !may_be_misread_throughout(column); });
  return columns;
}

std::vector<TextColumn> text_columns(const std::vector<TextLine>& lines, float letters) {
  struct Open {
    float x = 0, y = 0;  // of the last text
    TextColumn texts;
  };
  std::vector<Open> columns;
  for (const TextLine& line : lines) {
    for (const Chunk& chunk : line.chunks) {
      if (line.chunks.size() < 2) continue;
      const auto column = std::find_if(columns.rbegin(), columns.rend(), [&](const Open& open) {
        return std::abs(open.x - chunk.x0) < kSameStart * letters && open.y < line.y &&
               line.y - open.y < kNextNumber * letters;
      });
      if (column != columns.rend()) {
        column->y = line.y;
        column->texts.push_back(&chunk);
      } else if (columns.size() < kColumnsOfPageMost) {
        columns.push_back({chunk.x0, line.y, {&chunk}});
      }
    }
  }
  std::vector<TextColumn> all;
  for (Open& column : columns) {
    if (column.texts.size() >= kNumbersMin) all.push_back(std::move(column.texts));
  }
  return all;
}

std::vector<TableRegion> table_regions(const PageText& page, const std::vector<Box>& rules) {
  Words all;
  for (const Word& word : page.words) all.push_back(&word);
  const float letters = page.letters > 0 ? page.letters : body_letters(all);
  const std::vector<TextLine> lines = lines_of_page(page, letters);
  std::vector<TableRegion> regions;
  const auto add = [&](Box box, std::vector<Box> columns) {
    const float beside = letters / 2, above = kAboveRegion * letters;
    regions.push_back(
        {{box.x0 - beside, box.y0 - above, box.x1 + beside, box.y1 + above}, std::move(columns)});
  };
  for (const NumberColumn& column : number_columns(lines, letters)) {
    Rows rows = rows_beside(column, lines);
    extend(lines, letters, rows);
    add({rows.x0, lines[rows.first].top, rows.x1, lines[rows.last].bottom},
        {box_of_column(column, lines, letters)});
  }
  for (const TableFrame& frame : table_frames(rules, page, letters))
    add({frame.x0, frame.ys.front() - letters / 2, frame.x1, frame.ys.back() + letters / 2}, {});
  unite(regions);
  std::ranges::stable_partition(regions, [](const TableRegion& region) { return !region.columns.empty(); });
  return regions;
}

}  // namespace millrace::engines
