// Tables, and blocks of lines side by side, such as the addresses of a letter.

#include <algorithm>
#include <cmath>
#include <utility>

#include "ai/engines/layout/markers.h"
#include "ai/engines/layout/region.h"
#include "ai/engines/layout/side_blocks.h"

namespace millrace::engines {
namespace {

constexpr std::size_t kBlockRows = 2;
constexpr float kBlocksApart = 3;          // letter heights
constexpr std::size_t kLinesAboveMin = 2;  // of the left one of two blocks, above the right one
constexpr std::size_t kAddressLinesMin = 3, kAddressLinesMost = 8;

}  // namespace

void RegionReader::take_table(Table table) {
  const std::size_t first = next_;
  next_ += table.rows;
  if (auto texts = side_blocks(table)) {
    std::vector<std::string> lines(texts->size());
    for (next_ = first; next_ < rows_.size() && add_to_blocks(first, lines);) ++next_;
    if (next_ < first + table.rows) {
      next_ = first + table.rows;
    } else {
      texts = std::move(lines);
    }
    for (std::string& text : *texts) blocks_.push_back({Block::Kind::kParagraph, 0, {}, std::move(text)});
    return;
  }
  for (const Table& each : apart(std::move(table)))
    blocks_.push_back({Block::Kind::kTable, 0, {}, table_markdown(each)});
}

// Adds the next row to blocks side by side, which begin with the row `first`. One of them may have more lines
// than the others. False: it is not of them.
bool RegionReader::add_to_blocks(std::size_t first, std::vector<std::string>& texts) const {
  if (row(next_).figure() || (next_ > first && gap_above(next_) > kParagraphGap)) return false;
  std::vector<float> starts;
  for (std::size_t k = 0; k < row(first).words.size(); ++k) {
    if (begins_cell(row(first), k, metrics_.letters)) starts.push_back(row(first).words[k]->box.x0);
  }
  if (starts.size() != texts.size()) return false;
  std::vector<std::string> added(texts.size());
  std::size_t column = starts.size();
  for (std::size_t k = 0; k < row(next_).words.size(); ++k) {
    const Word& word = *row(next_).words[k];
    if (begins_cell(row(next_), k, metrics_.letters)) {
      const auto at = std::ranges::find_if(
          starts, [&](float x) { return std::abs(x - word.box.x0) < kSamePlace * metrics_.letters; });
      if (at == starts.end()) return false;
      column = static_cast<std::size_t>(at - starts.begin());
    }
    const bool reaches_next = column + 1 < starts.size() && word.box.x1 > starts[column + 1];
    if (reaches_next) return false;  // text below the blocks
    added[column].append(added[column].empty() ? "" : " ").append(word.text);
  }
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (!added[i].empty()) texts[i].append(texts[i].empty() ? 0 : 1, kLineBreak).append(added[i]);
  }
  return true;
}

// The texts of two blocks of two lines that stand side by side, such as names above towns; more lines are
// found as a table first. nullopt: none begins here.
std::optional<std::vector<std::string>> RegionReader::blocks_at(std::size_t i) const {
  if (i + kBlockRows > rows_.size() || gap_above(i + 1) > kParagraphGap) return std::nullopt;
  Table table{kBlockRows, {}};
  std::vector<float> starts;
  for (std::size_t k = i; k < i + kBlockRows; ++k) {
    const Row& each = row(k);
    std::size_t at = 0;
    if (each.figure() || each.widest_gap(at, 0) < kBlocksApart * metrics_.letters) return std::nullopt;
    const auto middle = each.words.begin() + static_cast<std::ptrdiff_t>(at);
    table.cells.push_back({Row{each.box, each.height, {each.words.begin(), middle}}.text(),
                           Row{each.box, each.height, {middle, each.words.end()}}.text()});
    starts.push_back(each.words[at]->box.x0);
  }
  if (std::abs(starts[0] - starts[1]) > kSamePlace * metrics_.letters) return std::nullopt;
  const bool goes_on = i + kBlockRows < rows_.size() && gap_above(i + kBlockRows) < kParagraphGap;
  return goes_on ? std::nullopt : side_blocks(table);
}

// Where two blocks end that begin here, the right one at a lower line than the left one: the sender of a
// letter and its reader, say. `first`: none begin here.
std::size_t RegionReader::staggered_blocks_end(std::size_t first) const {
  if (row(first).figure() || row(first).bold() || heading(first)) return first;
  std::size_t shared = first;  // the row that has lines of both
  std::size_t at = 0;
  const auto goes_on = [this](std::size_t i) {
    return i < rows_.size() && !row(i).figure() && starts_afresh(row(i).words.front()->text);
  };
  float right = row(first).box.x1;
  while (goes_on(shared) && (shared == first || gap_above(shared) < kParagraphGap) &&
         row(shared).widest_gap(at, 0) < kBlocksApart * metrics_.letters) {
    right = std::max(right, row(shared++).box.x1);
  }
  if (shared < first + kLinesAboveMin || shared - first > kAddressLinesMost || !goes_on(shared) ||
      row(shared).words.size() < 2)
    return first;
  const bool close = gap_above(shared) < kParagraphGap;
  if (!close || row(shared).widest_gap(at, 0) < kBlocksApart * metrics_.letters) return first;
  const float begin = row(shared).words[at]->box.x0;
  const float left = row(shared).box.x0;
  if (begin < right + metrics_.letters || std::abs(left - row(first).box.x0) > kSamePlace * metrics_.letters)
    return first;
  std::size_t end = shared + 1;
  while (goes_on(end) && end - shared < kAddressLinesMost && gap_above(end) < kParagraphGap &&
         std::abs(row(end).box.x0 - begin) < kSamePlace * metrics_.letters &&
         row(end).widest_gap(at, 0) < kBlocksApart * metrics_.letters) {
    ++end;
  }
  const bool is_table = table_at(rows_, shared, metrics_.letters).rows > 0 ||
                        (shared + 1 < rows_.size() && table_at(rows_, shared + 1, metrics_.letters).rows > 0);
  return end > shared + 1 && !is_table ? end : first;
}

void RegionReader::take_staggered_blocks(std::size_t end) {
  std::string left, right;
  for (; next_ < end; ++next_) {
    std::size_t at = 0;
    const Row& each = row(next_);
    const bool shared = each.widest_gap(at, 0) >= kBlocksApart * metrics_.letters;
    if (!shared) at = right.empty() ? each.words.size() : 0;
    const auto middle = each.words.begin() + static_cast<std::ptrdiff_t>(at);
    const Row one{each.box, each.height, {each.words.begin(), middle}},
        other{each.box, each.height, {middle, each.words.end()}};
    if (!one.words.empty()) left.append(left.empty() ? 0 : 1, kLineBreak).append(one.text());
    if (!other.words.empty()) right.append(right.empty() ? 0 : 1, kLineBreak).append(other.text());
  }
  for (std::string* text : {&left, &right})
    blocks_.push_back({Block::Kind::kParagraph, 0, {}, std::move(*text)});
}

void RegionReader::take_blocks(std::vector<std::string> texts) {
  next_ += kBlockRows;
  for (std::string& text : texts) blocks_.push_back({Block::Kind::kParagraph, 0, {}, std::move(text)});
}

// Whether the lines are those of an address, even if a column has no room for longer ones.
bool RegionReader::is_address(std::size_t first, std::size_t end) const {
  if (end - first < kAddressLinesMin || end - first > kAddressLinesMost) return false;
  std::vector<std::string> lines;
  for (std::size_t i = first; i < end; ++i) {
    lines.push_back(row(i).text());
    if (!starts_afresh(lines.back()) || ends_sentence(lines.back()) || ends_hyphenated(lines.back()))
      return false;
  }
  return are_lines_of_block(lines);
}

}  // namespace millrace::engines
