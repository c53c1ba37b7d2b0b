#include "ai/engines/layout/side_blocks.h"

#include <algorithm>
#include <cctype>
#include <cstddef>

#include "ai/engines/layout/markers.h"

namespace millrace::engines {
namespace {

constexpr std::size_t kRowsOfBlocksMost = 10;
constexpr std::size_t kBlocksMost = 3;
constexpr std::size_t kSignatureRows = 3;
constexpr std::size_t kLabelMost = 40;    // bytes
constexpr float kLabelled = 0.6F;         // of the rows
constexpr float kNumbers = 0.6F;          // of the filled cells of a column of amounts
constexpr float kWiderBetween = 1.8F;     // two tables, than two columns of one
constexpr std::size_t kLineOfBlock = 40;  // bytes of a line

using Texts = std::vector<std::vector<std::string>>;

bool has_a_digit(const std::string& text) {
  return std::ranges::any_of(text, [](unsigned char c) { return std::isdigit(c) != 0; });
}

bool is_label(const std::string& text) { return text.ends_with(':') && text.size() <= kLabelMost; }

std::vector<std::string> filled_of(const Texts& cells, std::size_t column) {
  std::vector<std::string> filled;
  for (const auto& row : cells) {
    if (!row[column].empty()) filled.push_back(row[column]);
  }
  return filled;
}

// Without the head.
bool is_of_numbers(const Texts& cells, std::size_t column) {
  std::size_t all = 0, numbers = 0;
  for (std::size_t i = 1; i < cells.size(); ++i) {
    if (cells[i][column].empty()) continue;
    ++all;
    if (is_amount(cells[i][column])) ++numbers;
  }
  return all > 0 && static_cast<float>(numbers) >= kNumbers * static_cast<float>(all);
}

bool has_numbers(const Texts& cells) {
  return std::ranges::any_of(cells, [](const auto& row) { return std::ranges::any_of(row, is_amount); });
}

// Runs of letters and of digits, each as one character: "AB-12" is "a-0".
std::string shape_of(const std::string& text) {
  std::string shape;
  for (const unsigned char c : text) {
    const char kind = std::isdigit(c) != 0                ? '0'
                      : std::isalpha(c) != 0 || c >= 0x80 ? 'a'
                                                          : static_cast<char>(c);
    if (shape.empty() || shape.back() != kind || (kind != 'a' && kind != '0')) shape += kind;
  }
  return shape;
}

// A head above values of one shape.
bool is_like_column(const std::vector<std::string>& lines) {
  if (lines.size() < 3) return false;
  const std::string shape = shape_of(lines[1]);
  return std::all_of(lines.begin() + 1, lines.end(),
                     [&](const std::string& line) { return shape_of(line) == shape; });
}

bool is_single_word(const std::string& cell) { return !cell.empty() && cell.find(' ') == std::string::npos; }

bool is_single_capitalized_word(const std::string& cell) {
  return is_single_word(cell) && starts_afresh(cell);
}

// Names and places have several words in some line; a column of single words names what is beside it. Of more
// than two rows, words without capitals may be bullets that were misread.
bool has_column_of_names(const Texts& cells) {
  const auto is_name = cells.size() < kSignatureRows ? is_single_word : is_single_capitalized_word;
  for (std::size_t column = 0; column < cells.front().size(); ++column) {
    if (std::ranges::all_of(cells, [&](const auto& row) { return is_name(row[column]); })) return true;
  }
  return std::ranges::all_of(cells, [](const auto& row) { return std::ranges::all_of(row, is_single_word); });
}

bool are_blocks(const Texts& cells) {
  const std::size_t columns = cells.front().size();
  if (cells.size() > kRowsOfBlocksMost || columns > kBlocksMost || has_numbers(cells)) return false;
  bool all = true, any_digit = false;
  for (std::size_t column = 0; column < columns; ++column) {
    const auto lines = filled_of(cells, column);
    all = all && are_lines_of_block(lines);
    any_digit = any_digit || std::ranges::any_of(lines, has_a_digit);
  }
  const bool is_signature =
      columns == 2 && cells.size() <= kSignatureRows && !any_digit && !has_column_of_names(cells);
  const bool beside_labels =
      columns == 2 && cells.size() <= kSignatureRows + 1 &&
      std::ranges::any_of(cells, [](const auto& row) { return row[1].find(": ") != std::string::npos; });
  return all || is_signature || beside_labels;
}

std::string lines_with_values(const Texts& cells) {
  std::string text;
  for (const auto& row : cells) {
    if (!text.empty()) text += kCellBreak;
    std::string line;
    for (const std::string& cell : row) {
      if (!line.empty() && !cell.empty()) line += ' ';
      line += cell;
    }
    text += line;
  }
  return text;
}

Table half_of(const Table& table, std::size_t from, std::size_t to) {
  Table half{table.rows, {}};
  for (const auto& row : table.cells) {
    std::vector<std::string> cells(row.begin() + static_cast<std::ptrdiff_t>(from),
                                   row.begin() + static_cast<std::ptrdiff_t>(to));
    if (std::ranges::any_of(cells, [](const std::string& cell) { return !cell.empty(); }))
      half.cells.push_back(std::move(cells));
  }
  return half;
}

// Whether the white space between the halves is clearly wider than any other between columns.
bool stand_apart(const Table& table, std::size_t half) {
  if (table.gaps.size() + 1 != table.cells.front().size()) return false;
  float widest = 0;
  for (std::size_t i = 0; i < table.gaps.size(); ++i) {
    if (i + 1 != half) widest = std::max(widest, table.gaps[i]);
  }
  return table.gaps[half - 1] > kWiderBetween * widest;
}

}  // namespace

std::optional<std::vector<std::string>> side_blocks(const Table& table) {
  const Texts& cells = table.cells;
  const std::size_t columns = cells.front().size();
  const auto labels = std::ranges::count_if(cells, [](const auto& row) { return is_label(row.front()); });
  if (columns == 2 && static_cast<float>(labels) >= kLabelled * static_cast<float>(cells.size())) {
    return std::vector{lines_with_values(cells)};
  }
  if (!are_blocks(cells)) return std::nullopt;
  std::vector<std::string> blocks;
  for (std::size_t column = 0; column < columns; ++column) {
    std::string& block = blocks.emplace_back();
    for (const std::string& line : filled_of(cells, column)) {
      if (!block.empty()) block += kCellBreak;
      block += line;
    }
  }
  return blocks;
}

bool are_lines_of_block(const std::vector<std::string>& lines) {
  const auto digits = static_cast<std::size_t>(std::ranges::count_if(lines, has_a_digit));
  const auto named = static_cast<std::size_t>(std::ranges::count_if(
      lines, [](const std::string& line) { return line.find(": ") != std::string::npos; }));
  const bool is_short =
      std::ranges::all_of(lines, [](const std::string& line) { return line.size() <= kLineOfBlock; });
  const bool is_mixed = digits > 0 && digits < lines.size() && !is_like_column(lines);
  return is_short && (is_mixed || named == lines.size());
}

std::vector<Table> apart(Table table) {
  const std::size_t columns = table.cells.front().size(), half = columns / 2;
  if (columns < 4 || columns % 2 != 0) return {std::move(table)};
  const auto& heads = table.cells.front();
  const bool same_heads = heads[0] == heads[half];
  bool numbers = false;
  for (std::size_t column = 0; column < half; ++column) {
    const bool left = is_of_numbers(table.cells, column), right = is_of_numbers(table.cells, half + column);
    if (left != right || (column == 0 && left)) return {std::move(table)};
    numbers = numbers || left;
  }
  Table left = half_of(table, 0, half), right = half_of(table, half, columns);
  const bool other_length = left.cells.size() != right.cells.size();
  const bool parted = same_heads || other_length || stand_apart(table, half);
  if (!numbers || !parted || left.cells.size() < 2 || right.cells.size() < 2) return {std::move(table)};
  return {std::move(left), std::move(right)};
}

}  // namespace millrace::engines
