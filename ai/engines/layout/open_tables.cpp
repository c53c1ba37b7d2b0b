#include "ai/engines/layout/open_tables.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "ai/engines/layout/columns.h"
#include "ai/engines/layout/markers.h"
#include "ai/engines/layout/rows.h"
#include "ai/engines/layout/table_frames.h"
#include "ai/engines/layout/table_mends.h"
#include "ai/engines/layout/tables.h"

namespace millrace::engines {
namespace {

// In letter heights.
constexpr float kValleyMin = 0.3F;  // white space between two columns
constexpr float kBin = 0.1F;
constexpr float kHeadAbove = 1.6F;  // from the head to the rule below it
constexpr std::size_t kTotalsMost = 12;
constexpr float kTailBelow = 2.2F;  // from the rule below a table to its total
constexpr float kHeadMost = 7;      // height of a head between two rules

constexpr float kTwoSteps =
    1.12F;  // the step between rows, when cells have several lines, in steps within a cell
constexpr float kFullRowsMin = 0.6F;  // of the rows have two or more filled cells
constexpr float kValues = 0.6F;       // of the texts of a column: it has one line in each row
constexpr std::size_t kBinsMost = 4000;
constexpr std::size_t kColumnsMost = 40;
constexpr std::size_t kSpannedFrom = 4;  // lines: with fewer, a text over several columns parts none
constexpr std::size_t kHeadAndBody = 3;  // rules about a head and all rows
constexpr std::size_t kBands = 4;        // so many strips between rules are the rows

// An amount, a date, a number of an item.
bool is_value(const Row& row) {
  const std::string text = row.text();
  const bool digits = std::ranges::any_of(text, [](unsigned char c) { return std::isdigit(c) != 0; });
  return digits && (row.words.size() == 1 || is_amount(text));
}

// The x-ranges of columns.
struct Columns {
  std::vector<float> cuts;  // between the columns
  std::size_t count() const { return cuts.size() + 1; }
  std::size_t of(float x) const {
    return static_cast<std::size_t>(std::ranges::upper_bound(cuts, x) - cuts.begin());
  }
};

// How many texts cover each place between the sides of a table.
class Coverage {
 public:
  Coverage(const TableFrame& frame, float letters) : from_(frame.x0 - letters), bin_(kBin * letters) {
    const float bins = (frame.x1 + letters - from_) / bin_;
    counts_.resize(std::clamp<std::size_t>(static_cast<std::size_t>(std::max(bins, 1.0F)), 1, kBinsMost));
  }
  void add(const Chunk& chunk, std::size_t times) {
    for (std::size_t i = bin(chunk.x0); i <= bin(chunk.x1); ++i) counts_[i] += times;
  }
  // Places that at most `most` texts cover, between places that more cover.
  struct Valley {
    float from = 0, to = 0;
  };
  std::vector<Valley> valleys(std::size_t most) const {
    std::vector<Valley> all = gaps(most);
    std::erase_if(all, [this](const Valley& gap) { return gap.from <= x(0) || gap.to >= x(counts_.size()); });
    return all;
  }
  // The same with the white space at both sides.
  std::vector<Valley> gaps(std::size_t most) const {
    std::vector<Valley> all;
    std::size_t from = 0;
    for (std::size_t i = 0; i <= counts_.size(); ++i) {
      if (i < counts_.size() && counts_[i] <= most) continue;
      if (static_cast<float>(i - from) * kBin >= kValleyMin) all.push_back({x(from), x(i)});
      from = i + 1;
    }
    return all;
  }

 private:
  std::size_t bin(float x) const {
    const float at = (x - from_) / bin_;
    return std::min(static_cast<std::size_t>(std::max(at, 0.0F)), counts_.size() - 1);
  }
  float x(std::size_t i) const { return from_ + static_cast<float>(i) * bin_; }

  float from_, bin_;
  std::vector<std::size_t> counts_;
};

// A text over several columns closes no valley, but one within a valley is a column of its own.
Columns columns_of(const std::vector<TextLine>& lines, std::size_t heads, const TableFrame& frame,
                   float letters) {
  Coverage coverage(frame, letters);
  const std::size_t body = lines.size() - heads;
  const std::size_t most = body >= kSpannedFrom ? std::max<std::size_t>(1, body / 10) : 0;
  const auto inside = [](const Chunk& chunk, const Coverage::Valley& valley) {
    return chunk.x0 >= valley.from && chunk.x1 <= valley.to;
  };
  for (std::size_t i = heads; i < lines.size(); ++i) {
    for (const Chunk& chunk : lines[i].chunks) coverage.add(chunk, 1);
  }
  const auto lift = [&](std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i) {
      for (const Chunk& chunk : lines[i].chunks) {
        const auto gaps = coverage.gaps(most);
        if (std::ranges::any_of(gaps, [&](const auto& gap) { return inside(chunk, gap); }))
          coverage.add(chunk, most + 1);
      }
    }
  };
  if (most > 0) lift(heads, lines.size());
  if (heads > 0 && lines[heads - 1].chunks.size() > coverage.valleys(most).size() + 1) lift(heads - 1, heads);
  Columns columns;
  for (const auto& [from, to] : coverage.valleys(most)) columns.cuts.push_back((from + to) / 2);
  return columns;
}

using Texts = std::vector<std::vector<std::string>>;

// Builds the rows of a table line by line.
class OpenTable {
 public:
  OpenTable(std::vector<TextLine> lines, std::size_t heads, Columns columns, const TableFrame& frame)
      : lines_(std::move(lines)), heads_(heads), columns_(std::move(columns)), frame_(frame) {
    for (const TextLine& line : lines_) {
      filled_.emplace_back(columns_.count(), false);
      for (const Chunk& chunk : line.chunks)
        filled_.back()[columns_.of(chunk.row.words.front()->box.middle_x())] = true;
    }
    find_rights();
    find_values();
    find_steps();
    strips_are_rows_ = frame_.ys.size() > kBands && !any_strip_has_rows();
  }

  Texts rows(const std::vector<Box>& partial) {
    Texts rows;
    add_heads(partial, rows);
    std::size_t first = heads_;  // line of the row
    for (std::size_t i = heads_; i < lines_.size(); ++i) {
      if (i == heads_ || begins_row(i, first)) {
        rows.emplace_back(columns_.count());
        first = i;
      }
      add(i, rows.back(), i > first);
    }
    return rows;
  }

 private:
  std::size_t column_of(const Chunk& chunk) const {
    return columns_.of(chunk.row.words.front()->box.middle_x());
  }

  void find_rights() {
    rights_.assign(columns_.count(), 0);
    rooms_.assign(columns_.count(), frame_.x1);
    for (const TextLine& line : lines_) {
      for (const Chunk& chunk : line.chunks) {
        const std::size_t column = column_of(chunk);
        if (column > 0) rooms_[column - 1] = std::min(rooms_[column - 1], chunk.x0);
      }
    }
    for (std::size_t i = heads_; i < lines_.size(); ++i) {
      for (const Chunk& chunk : lines_[i].chunks) {
        const std::size_t column = column_of(chunk);
        if (columns_.of(chunk.x1) == column) rights_[column] = std::max(rights_[column], chunk.x1);
      }
    }
  }

  // A column of values has one line in each row.
  void find_values() {
    std::vector<std::size_t> all(columns_.count()), with_values(columns_.count());
    for (std::size_t i = heads_; i < lines_.size(); ++i) {
      for (const Chunk& chunk : lines_[i].chunks) {
        ++all[column_of(chunk)];
        if (is_value(chunk.row)) ++with_values[column_of(chunk)];
      }
    }
    for (std::size_t c = 0; c < columns_.count(); ++c) {
      values_.push_back(all[c] > 0 &&
                        static_cast<float>(with_values[c]) > kValues * static_cast<float>(all[c]));
    }
  }

  // Steps of two kinds: within cells and between rows.
  void find_steps() {
    std::vector<float> steps;
    for (std::size_t i = heads_ + 1; i < lines_.size(); ++i) steps.push_back(lines_[i].y - lines_[i - 1].y);
    if (steps.empty()) return;
    std::ranges::sort(steps);
    const float least = steps.front(), wide = steps[steps.size() - 1 - steps.size() / 10];
    if (wide > kTwoSteps * least) row_step_ = (least + wide) / 2;
  }

  bool parted_by_rule(std::size_t i) const {
    return std::ranges::any_of(frame_.ys, [&](float y) { return y > lines_[i - 1].y && y < lines_[i].y; });
  }

  // Whether the first word of each text of the line would have fitted into the line above it, whose columns
  // end at `rights`.
  bool ended_on_purpose(std::size_t i, const std::vector<float>& rights) const {
    return std::ranges::all_of(lines_[i].chunks, [&](const Chunk& chunk) {
      const std::size_t column = column_of(chunk);
      const auto above =
          std::ranges::find(lines_[i - 1].chunks, column, [&](const Chunk& each) { return column_of(each); });
      const Box& word = chunk.row.words.front()->box;
      return above != lines_[i - 1].chunks.end() &&
             above->x1 + word.height() / 3 + word.width() < rights[column];
    });
  }

  bool any_filled(std::size_t i, const std::vector<bool>& columns) const {
    for (std::size_t c = 0; c < columns.size(); ++c) {
      if (columns[c] && filled_[i][c]) return true;
    }
    return false;
  }

  bool is_within(std::size_t i, std::size_t first) const {
    for (std::size_t c = 0; c < columns_.count(); ++c) {
      if (filled_[i][c] && !filled_[first][c]) return false;
    }
    return true;
  }

  // Whether the lines between the rules above and below have values in the first one only.
  bool is_only_row(std::size_t i) const {
    if (row_step_ > 0 && frame_.ys.size() <= kHeadAndBody) return false;
    std::size_t first = i, end = i + 1;
    while (first > heads_ && !parted_by_rule(first)) --first;
    while (end < lines_.size() && !parted_by_rule(end)) ++end;
    if (!any_filled(first, values_)) return false;
    for (std::size_t k = first + 1; k < end; ++k) {
      if (any_filled(k, values_)) return false;
    }
    return true;
  }

  bool begins_row(std::size_t i, std::size_t first) const {
    const bool is_total = lines_[i].y > frame_.ys.back();
    if (is_total || parted_by_rule(i)) return true;
    if (strips_are_rows_ || is_only_row(i)) return false;
    if (row_step_ > 0 && lines_[i].y - lines_[i - 1].y > row_step_) return true;
    if (any_filled(i, values_) || !is_within(i, first)) return true;
    const bool values = any_filled(first, values_);
    const bool only_first = std::ranges::count(filled_[i], true) == 1 && filled_[i][0];
    if (values && !only_first) return false;
    const bool is_full = std::ranges::count(filled_[i], false) == 0;
    if (row_step_ > 0 && !values_[0]) return is_full && ended_on_purpose(i, rights_);
    return ended_on_purpose(i, is_full && !has_values() ? rooms_ : rights_);
  }

  // Whether a strip between two rules has several values in one column.
  bool any_strip_has_rows() const {
    std::vector<bool> seen(columns_.count());
    for (std::size_t i = heads_; i < lines_.size(); ++i) {
      if (i > heads_ && parted_by_rule(i)) seen.assign(columns_.count(), false);
      for (std::size_t c = 0; c < columns_.count(); ++c) {
        if (!values_[c] || !filled_[i][c]) continue;
        if (seen[c]) return true;
        seen[c] = true;
      }
    }
    return false;
  }

  bool has_values() const { return std::ranges::count(values_, true) > 0; }

  void add(std::size_t i, std::vector<std::string>& row, bool continues) const {
    for (const Chunk& chunk : lines_[i].chunks) {
      const std::size_t column = column_of(chunk);
      add_text(chunk, row[column], continues ? ended_before(i, chunk) : false);
    }
  }

  static void add_text(const Chunk& chunk, std::string& cell, bool breaks) {
    const std::string text = chunk.row.text();
    if (breaks && !cell.empty()) {
      cell.append(1, kCellBreak).append(text);
    } else {
      join_line(cell, text);
    }
  }

  // Whether the line above ended on purpose in the column of the text.
  bool ended_before(std::size_t i, const Chunk& chunk) const {
    const std::size_t column = column_of(chunk);
    const auto above =
        std::ranges::find(lines_[i - 1].chunks, column, [&](const Chunk& each) { return column_of(each); });
    return above != lines_[i - 1].chunks.end() &&
           ends_on_purpose(above->row, chunk.row, column == 0 ? frame_.x0 : columns_.cuts[column - 1],
                           rights_[column]);
  }

  // A text above a rule that runs over some columns stands over all of them.
  std::size_t head_column(const Chunk& chunk, const std::vector<Box>& partial, float y) const {
    for (const Box& rule : partial) {
      const float middle = (chunk.x0 + chunk.x1) / 2;
      if (rule.y0 < y || middle < rule.x0 || middle > rule.x1) continue;
      const auto first = std::ranges::find_if(rights_, [&](float right) { return right > rule.x0; });
      if (first != rights_.end()) return static_cast<std::size_t>(first - rights_.begin());
    }
    return column_of(chunk);
  }

  void add_heads(const std::vector<Box>& partial, Texts& rows) const {
    for (std::size_t i = 0; i < heads_; ++i) {
      const bool below_rule = i > 0 && std::ranges::any_of(partial, [&](const Box& rule) {
                                return rule.middle_y() > lines_[i - 1].y && rule.middle_y() < lines_[i].y;
                              });
      if (i == 0 || below_rule) rows.emplace_back(columns_.count());
      for (const Chunk& chunk : lines_[i].chunks)
        add_text(chunk, rows.back()[head_column(chunk, partial, lines_[i].y)], false);
    }
  }

  std::vector<TextLine> lines_;
  std::size_t heads_;
  Columns columns_;
  const TableFrame& frame_;
  std::vector<std::vector<bool>> filled_;  // by line and column
  std::vector<bool> values_;               // by column
  std::vector<float> rights_;              // by column: where its texts end
  std::vector<float> rooms_;               // by column: where the texts of the next one begin
  bool strips_are_rows_ = false;
  float row_step_ = 0;  // wider steps are between rows; 0: all steps are alike
};

bool enough_cells_of(const Texts& rows) {
  if (rows.size() < 2 || rows.front().size() < 2 || rows.front().size() > kColumnsMost) return false;
  const auto full = std::ranges::count_if(rows, [](const auto& row) {
    return std::ranges::count_if(row, [](const std::string& cell) { return !cell.empty(); }) >= 2;
  });
  return static_cast<float>(full) >= kFullRowsMin * static_cast<float>(rows.size());
}

// Finds the lines of one table and replaces their words.
class OpenTableReader {
 public:
  OpenTableReader(const TableFrame& frame, const std::vector<Box>& across, PageText& page, float letters)
      : frame_(frame), across_(across), page_(page), letters_(letters) {}

  void replace() {
    float top = frame_.ys.front(), bottom = frame_.ys.back();
    std::size_t heads = heads_between(top, frame_.ys[1]);
    if (frame_.ys.size() == 2 || heads == 0) {
      top = top_of_head_above();
      heads = lines_in(top, frame_.ys.front()).size();
      if (heads == 0 && frame_.ys.size() == 2) return;
    }
    std::vector<TextLine> lines = lines_in(top, bottom);
    if (lines.size() < 2 || heads >= lines.size()) return;
    const Columns columns = columns_of(lines, heads, frame_, letters_);
    if (columns.count() < 2 || is_prose_of_columns(columns, top, bottom)) return;
    const auto tail = tail_below(bottom, columns);
    lines.insert(lines.end(), tail.begin(), tail.end());
    Texts rows = OpenTable(lines, heads, columns, frame_).rows(partial_rules(top));
    if (!enough_cells_of(rows)) return;
    Table table{rows.size(), std::move(rows)};
    join_split_columns(table);
    join_late_values(table.cells);
    take(lines,
         {frame_.x0, std::min(top, lines.front().top), frame_.x1, std::max(bottom, lines.back().bottom)},
         table);
  }

 private:
  std::vector<TextLine> lines_in(float top, float bottom) const {
    return lines_of(words_between(page_, frame_, top, bottom, letters_), kChunkGap * letters_);
  }

  // Lines of the head between the first two rules.
  std::size_t heads_between(float top, float next) const {
    if (frame_.ys.size() < 3 || next - top > kHeadMost * letters_) return 0;
    const auto lines = lines_in(top, next);
    const auto with_amounts = std::ranges::count_if(lines, [](const TextLine& line) {
      return std::ranges::any_of(line.chunks, [](const Chunk& chunk) { return is_amount(chunk.row.text()); });
    });
    return with_amounts > 1 ? 0 : lines.size();
  }

  // The head may stand above the first rule.
  float top_of_head_above() const {
    const float rule = frame_.ys.front();
    const auto lines = lines_in(rule - kHeadAbove * letters_, rule);
    if (lines.size() != 1 || lines.front().chunks.size() < 2) return rule;
    return lines.front().top - kBin * letters_;
  }

  // Rules over some columns within the head.
  std::vector<Box> partial_rules(float top) const {
    std::vector<Box> rules;
    const float below = frame_.ys.size() > 2 ? frame_.ys[1] : frame_.ys[0];
    std::ranges::copy_if(across_, std::back_inserter(rules), [&](const Box& rule) {
      return rule.middle_y() > top && rule.middle_y() < below - kBin * letters_ &&
             rule.x0 > frame_.x0 - letters_ && rule.x1 < frame_.x1 + letters_ &&
             rule.width() < kProseWidth * (frame_.x1 - frame_.x0);
    });
    return rules;
  }

  bool is_prose_of_columns(const Columns& columns, float top, float bottom) const {
    if (columns.count() > 3 || frame_.ys.size() > kBands) return false;
    Words left, right;
    for (const Word* word : words_between(page_, frame_, top, bottom, letters_))
      (word->box.middle_x() < columns.cuts.front() ? left : right).push_back(word);
    return !left.empty() && !right.empty() && frame_.ys.size() == 2 && are_columns(left, right, letters_);
  }

  // Totals below the last rule, each close to the one above it.
  std::vector<TextLine> tail_below(float bottom, const Columns& columns) const {
    std::vector<TextLine> tail;
    while (tail.size() < kTotalsMost) {
      std::vector<TextLine> below = lines_in(bottom, bottom + kTailBelow * letters_);
      if (below.empty() || !is_total(below.front(), columns)) return tail;
      bottom = below.front().bottom;
      tail.push_back(std::move(below.front()));
    }
    return tail;
  }

  static bool is_total(const TextLine& line, const Columns& columns) {
    const auto amounts =
        std::ranges::count_if(line.chunks, [](const Chunk& chunk) { return is_amount(chunk.row.text()); });
    return amounts > 0 && line.chunks.size() >= 2 && columns.count() > 2 &&
           columns.of(line.chunks.back().x0) + 1 == columns.count();
  }

  void take(const std::vector<TextLine>& lines, const Box& box, const Table& table) {
    std::vector<const Word*> taken;
    for (const TextLine& line : lines) {
      for (const Chunk& chunk : line.chunks)
        taken.insert(taken.end(), chunk.row.words.begin(), chunk.row.words.end());
    }
    std::ranges::sort(taken);
    std::vector<Word> rest;
    for (Word& word : page_.words) {
      if (!std::ranges::binary_search(taken, &word)) rest.push_back(std::move(word));
    }
    page_.letters = letters_;
    page_.words = std::move(rest);
    page_.words.push_back({.box = box, .text = table_markdown(table), .figure = true});
  }

  const TableFrame& frame_;
  const std::vector<Box>& across_;
  PageText& page_;
  float letters_;
};

}  // namespace

void set_open_tables(const std::vector<Box>& across, PageText& page) {
  Words all;
  for (const Word& word : page.words) {
    if (word.leftwards || word.turn != Orientation::kNone) return;
    all.push_back(&word);
  }
  const float letters = page.letters > 0 ? page.letters : body_letters(all);
  for (const TableFrame& frame : table_frames(across, page, letters))
    OpenTableReader(frame, across, page, letters).replace();
}

}  // namespace millrace::engines
