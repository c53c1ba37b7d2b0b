#include "ai/engines/layout/table_mends.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <string_view>

#include "ai/engines/layout/markers.h"
#include "ai/engines/layout/number_shape.h"

namespace millrace::engines {
namespace {

constexpr std::size_t kLateRowsMin = 2;
constexpr float kLateRows = 0.5F;  // of the entries

using Texts = std::vector<std::vector<std::string>>;

bool has_values(const Texts& rows, std::size_t column) {
  return std::any_of(rows.begin() + 1, rows.end(), [=](const auto& row) { return !row[column].empty(); });
}

// A head is a word. Without a head, the first row has values, such as the debits and credits of a statement.
bool is_head(const std::string& text) {
  return text.size() > 1 && digits_in(text) == 0 && has_letter_or_digit(text);
}

bool is_head_only(const Texts& rows, std::size_t column) {
  return is_head(rows.front()[column]) && !has_values(rows, column);
}

bool is_without_head(const Texts& rows, std::size_t column) {
  return rows.front()[column].empty() && has_values(rows, column);
}

std::size_t filled_from(const std::vector<std::string>& row, std::size_t column) {
  while (column < row.size() && row[column].empty()) ++column;
  return column;
}

// Whether the row continues a text of the row above and has what is missing to its right.
bool is_late(const Texts& rows, std::size_t i) {
  const auto &row = rows[i], &above = rows[i - 1];
  const std::size_t text = filled_from(row, 0);
  if (text == 0 || text == row.size() || above[0].empty() || above[text].empty()) return false;
  return filled_from(row, text + 1) < row.size() && filled_from(above, text + 1) == row.size();
}

}  // namespace

void join_split_columns(Table& table) {
  Texts& rows = table.cells;
  for (std::size_t i = 0; i + 1 < rows.front().size(); ++i) {
    const bool one = is_head_only(rows, i) ? is_without_head(rows, i + 1)
                                           : is_without_head(rows, i) && is_head_only(rows, i + 1);
    if (!one) continue;
    for (auto& row : rows) {
      row[i] += row[i + 1];
      row.erase(row.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    }
    if (i < table.gaps.size()) table.gaps.erase(table.gaps.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

void join_late_values(Texts& rows) {
  std::vector<std::size_t> late;
  std::size_t entries = 0;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    if (!rows[i][0].empty()) ++entries;
    if (i > 1 && is_late(rows, i)) late.push_back(i);
  }
  if (late.size() < kLateRowsMin || static_cast<float>(late.size()) < kLateRows * static_cast<float>(entries))
    return;
  // Rows of a group follow their title; a statement ends with its balance.
  const bool is_group = std::any_of(late.begin(), late.end() - 1, [&](std::size_t i) {
    return i + 1 < rows.size() && rows[i + 1][0].empty() && !is_late(rows, i + 1);
  });
  if (is_group) return;
  for (auto i = late.rbegin(); i != late.rend(); ++i) {
    for (std::size_t column = 0; column < rows[*i].size(); ++column) {
      if (!rows[*i][column].empty()) join_line(rows[*i - 1][column], rows[*i][column]);
    }
    rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(*i));
  }
}

namespace {

// The text with 9 in place of each digit.
std::string shape_of(std::string_view text) {
  std::string shape(text);
  std::ranges::replace_if(
      shape, [](unsigned char c) { return std::isdigit(c) != 0; }, '9');
  return shape;
}

bool is_part_of_date(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.' || c == '/';
}

// Whether the text before a break begins a date that goes on behind it.
bool breaks_date(std::string_view before, std::string_view after) {
  struct Broken {
    std::string_view begin, next;
  };
  constexpr std::array<Broken, 4> kBroken{
      {{"9999-", "99-"}, {"9999-99-", "99"}, {"99.99.", "9999"}, {"99/99/", "9999"}}};
  std::size_t from = before.size(), to = 0;
  while (from > 0 && is_part_of_date(before[from - 1])) --from;
  while (to < after.size() && is_part_of_date(after[to])) ++to;
  const std::string begin = shape_of(before.substr(from)), next = shape_of(after.substr(0, to));
  return std::ranges::any_of(kBroken, [&](const Broken& each) {
    const bool whole = next == each.next || (each.next.ends_with('-') && next.starts_with(each.next));
    return begin == each.begin && whole;
  });
}

}  // namespace

std::string with_whole_dates(std::string cell) {
  for (std::size_t at = 1; at + 1 < cell.size(); ++at) {
    const bool gap = cell[at] == ' ' || cell[at] == kCellBreak;
    const std::string_view text(cell);
    if (gap && breaks_date(text.substr(0, at), text.substr(at + 1))) cell.erase(at--, 1);
  }
  return cell;
}

}  // namespace millrace::engines
