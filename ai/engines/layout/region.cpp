#include "ai/engines/layout/region.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "ai/engines/layout/markers.h"

namespace millrace::engines {
namespace {

// All in letter heights, row pitches or fractions of the column's width.
constexpr float kHeadingGap = 1.25F;
constexpr float kHeadingFill = 0.75F;
constexpr std::size_t kHeadingWords = 14;
constexpr float kLargerText = 1.15F;        // letters of a heading in a text layer, relative to body letters
constexpr float kLargerRecognised = 1.25F;  // the same for OCR, whose heights are estimates
constexpr float kApartFromText = 1.15F;     // from a heading at the top of a column to its text
constexpr float kTitleMin = 0.95F;          // letters of a title that is recognised by its position
constexpr float kShortRow = 0.75F;  // a row that ends before this fraction of the column may end a paragraph
constexpr float kPageNumberEdge = 0.1F;
constexpr float kNoRowAbove = 100.0F;
constexpr std::size_t kSectionRowsMax = 100;  // within which the next section is searched
constexpr float kNumberApart = 0.6F;          // from the number of a section to its title

bool has_letter(const std::string& text) {
  return std::any_of(text.begin(), text.end(), [](char c) { return c < 0 || (std::isalpha(c) != 0); });
}

// With a capital; `starts_afresh` also accepts digits.
bool starts_upper(const std::string& text) {
  return starts_afresh(text) && std::isdigit(static_cast<unsigned char>(text[0])) == 0 && text[0] != '`';
}

}  // namespace

RegionReader::RegionReader(const PageMetrics& metrics, std::vector<Row> rows, float right_edge,
                           bool first_on_page)
    : metrics_(metrics),
      rows_(std::move(rows)),
      box_(bounds(rows_)),
      right_edge_(right_edge),
      first_on_page_(first_on_page) {
  has_asterisk_ = std::ranges::any_of(rows_, [](const Row& each) {
    return std::ranges::any_of(each.words, [](const Word* word) {
      const std::string& text = word->text;
      return word->figure ? text.find("\\*") != std::string::npos : text.size() > 1 && text.ends_with('*');
    });
  });
}

std::vector<Block> RegionReader::read() {
  while (next_ < rows_.size()) {
    if (row(next_).figure()) {
      blocks_.push_back({Block::Kind::kFigure, 0, {}, row(next_++).text()});
    } else if (lone_page_number(next_)) {
      ++next_;
    } else if (begins_entries(next_)) {
      take_entries();
    } else if (Table table = table_at(rows_, next_, metrics_.letters); table.rows > 0) {
      take_table(std::move(table));
    } else if (auto texts = blocks_at(next_)) {
      take_blocks(std::move(*texts));
    } else if (const std::size_t end = staggered_blocks_end(next_); end > next_) {
      take_staggered_blocks(end);
    } else if (heading(next_)) {
      take_heading();
    } else if (const auto marker = item_marker(next_)) {
      take_item(*marker);
    } else {
      take_paragraph();
    }
  }
  return std::move(blocks_);
}

// Whether the row is an entry of a list with leaders: one leader, and one cell after it.
bool RegionReader::leads_to_end(std::size_t i) const {
  const Row& each = row(i);
  if (each.leaders.empty()) return false;
  const float from = each.leaders.front()->box.x0, to = each.leaders.back()->box.x0;
  std::size_t after = 0;  // the first word after the leader
  while (after < each.words.size() && each.words[after]->box.x0 < from) ++after;
  if (after == 0 || after == each.words.size() || each.words[after]->box.x0 < to) return false;
  for (std::size_t k = after + 1; k < each.words.size(); ++k) {
    if (begins_cell(each, k, metrics_.letters)) return false;
  }
  return true;
}

// How many rows the entry that begins here has: its text may go on in a second row; 0: none begins.
std::size_t RegionReader::entry_rows(std::size_t i) const {
  if (i >= rows_.size() || row(i).figure()) return 0;
  if (leads_to_end(i)) return 1;
  const bool goes_on = i + 1 < rows_.size() && leads_to_end(i + 1) && gap_above(i + 1) < kParagraphGap &&
                       starts_lower(row(i + 1).words[0]->text) && !has_cells(row(i), metrics_.letters) &&
                       !ends_sentence(row(i).text());
  return goes_on ? 2 : 0;
}

// Amounts below each other are a table, although leaders lead to them.
bool RegionReader::begins_entries(std::size_t i) const {
  const std::size_t rows = entry_rows(i);
  if (rows == 0) return false;
  const std::string last = row(i + rows - 1).words.back()->text;
  return is_page_number(last) || !is_amount(last) || table_at(rows_, i, metrics_.letters).rows == 0;
}

float RegionReader::gap_above(std::size_t i) const {
  if (i == 0 || row(i - 1).figure()) return kNoRowAbove;
  const float scale = std::max(1.0F, std::min(size_ratio(i), size_ratio(i - 1)));
  const Box &box = row(i).box, &above = row(i - 1).box;
  // The heights of recognised rows are estimates.
  const float step = metrics_.recognised ? std::min(box.y0 - above.y0, box.y1 - above.y1) : box.y0 - above.y0;
  return step / (metrics_.pitch * scale);
}

bool RegionReader::ends_short(std::size_t i) const {
  return row(i).box.x1 < box_.x0 + kShortRow * box_.width();
}

bool RegionReader::indented(std::size_t i) const {
  return row(i).box.x0 - box_.x0 > kIndent * metrics_.letters;
}

bool RegionReader::lone_page_number(std::size_t i) const {
  if (metrics_.rows == 1) return false;  // the only content of the page: keep it
  const float y = row(i).box.middle_y();
  const bool at_edge = y > (1 - kPageNumberEdge) * metrics_.height || y < kPageNumberEdge * metrics_.height;
  return at_edge && (i == 0 || i + 1 == rows_.size()) && is_page_number(row(i).text()) && !in_column(i);
}

// Whether the row is one of several amounts below each other.
bool RegionReader::in_column(std::size_t i) const {
  if (rows_.size() == 1 || gap_above(std::max<std::size_t>(i, 1)) > kParagraphGap) return false;
  const Word &last = *row(i).words.back(), &near = *row(i == 0 ? 1 : i - 1).words.back();
  const bool same_place = std::abs(last.box.x0 - near.box.x0) < kSamePlace * metrics_.letters ||
                          std::abs(last.box.x1 - near.box.x1) < kSamePlace * metrics_.letters;
  return same_place && is_amount(last.text) && is_amount(near.text);
}

bool RegionReader::heading_shape(std::size_t i) const {
  const Row& each = row(i);
  if (each.figure() || entry_rows(i) > 0 || each.words.size() > kHeadingWords) return false;
  const std::string text = each.text();
  if (!has_letter(text) || text.ends_with(',') || text.ends_with(';')) return false;
  if (text.ends_with('.') && section_depth(text) == 0) return false;
  return fill(i) < kHeadingFill || each.bold() || size_ratio(i) > kLargerRecognised || i + 1 == rows_.size();
}

namespace {

bool is_whole_number(std::string_view text, std::size_t digits_max) {
  return !text.empty() && text.size() <= digits_max &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c) != 0; });
}

// A day, a month by its name, and a year.
bool begins_with_date(const Row& row) {
  if (row.words.size() < 3) return false;
  std::string_view day = row.words[0]->text, year = row.words[2]->text;
  if (day.ends_with('.')) day.remove_suffix(1);
  if (year.ends_with(',') || year.ends_with(':')) year.remove_suffix(1);
  return is_whole_number(day, 2) && is_whole_number(year, 4) && year.size() == 4;
}

// The first part of a section number such as 3, 3. or 3.1; 0: the row begins with none.
int first_part(const Row& row) {
  const std::string_view first = row.words[0]->text;
  if (row.words.size() < 2 || begins_with_date(row) || starts_lower(row.words[1]->text)) return 0;
  if (!is_whole_number(first, 2) && section_depth(first) == 0) return 0;
  return std::atoi(std::string(first).c_str());
}

}  // namespace

// Whether a number without a full stop is that of a section: it is set apart from its title, or a section
// near has the number before or after it, or a part of the same one. "3 Items" has neither.
bool RegionReader::is_section_number(std::size_t i) const {
  const Row& each = row(i);
  if (each.words[1]->box.x0 - each.words[0]->box.x1 > kNumberApart * metrics_.letters) return true;
  const int number = first_part(each);
  const std::size_t from = i > kSectionRowsMax ? i - kSectionRowsMax : 0;
  for (std::size_t k = from; k < std::min(rows_.size(), i + kSectionRowsMax); ++k) {
    if (k + 1 >= i && k <= i + 1) continue;  // rows of a list
    const int other = row(k).figure() ? 0 : first_part(row(k));
    const bool is_part = other == number && !is_whole_number(row(k).words[0]->text, 2);
    if (other > 0 && (std::abs(other - number) == 1 || is_part)) return true;
  }
  return false;
}

// The depth of the number that the row begins with: "2" before a capital is 1, "2.1" is 2; 0: there is none.
int RegionReader::number_depth(std::size_t i) const {
  if (first_part(row(i)) == 0) return 0;
  const auto& words = row(i).words;
  const bool plain = is_whole_number(words[0]->text, 2) && starts_upper(words[1]->text);
  return plain && is_section_number(i) ? 1 : section_depth(words[0]->text);
}

bool RegionReader::numbered_heading(std::size_t i) const {
  const Row& each = row(i);
  if (first_part(each) == 0 || section_depth(each.words[0]->text) == 0) return false;
  // Consecutive rows with numbers are list items.
  return i + 1 >= rows_.size() || section_depth(row(i + 1).words[0]->text) != 1;
}

// OCR does not detect bold letters. A heading is then a short row without a full stop, set off from the text
// above and close to a full row below.
bool RegionReader::heading_by_place(std::size_t i) const {
  if (i + 1 >= rows_.size() || row(i + 1).figure()) return false;
  const bool begins = starts_upper(row(i).text()) || number_depth(i) > 0;
  if (!begins || row(i).text().ends_with(':') || !ends_short(i)) return false;
  const float below = gap_above(i + 1);
  if (i == 0 && below < kApartFromText) return false;
  const bool indent_below = row(i + 1).box.x0 - row(i).box.x0 > kIndent * metrics_.letters;
  return gap_above(i) > 1.4F && (below < 1.7F || indent_below) &&
         row(i + 1).box.x1 > box_.x1 - 0.15F * box_.width();
}

// A single centred row at the top of the first page, with space below. If its letters are smaller than the
// text, it is a running head.
bool RegionReader::title_by_place(std::size_t i) const {
  if (metrics_.index != 0 || !first_on_page_ || i != 0 || rows_.size() < 2) return false;
  if (size_ratio(i) < kTitleMin) return false;
  const float left = row(i).box.x0 - box_.x0;
  const float right = box_.x1 - row(i).box.x1;
  const bool centred = left > 0.1F * box_.width() && std::abs(left - right) < 0.1F * box_.width();
  return centred && gap_above(1) > kParagraphGap && item_marker(i).value_or("") != "-";
}

bool RegionReader::heading(std::size_t i) const {
  if (!heading_shape(i)) return false;
  if (title_by_place(i)) return true;
  if (item_marker(i).value_or("") == "-") return false;
  const bool set_off = gap_above(i) > kHeadingGap;
  const float larger = metrics_.recognised ? kLargerRecognised : kLargerText;
  if (size_ratio(i) > larger && row(i).text().size() > 1) return set_off || size_ratio(i) > 1.3F;
  if (!set_off) return false;
  if (row(i).bold() || numbered_heading(i)) return true;
  return metrics_.recognised && heading_by_place(i);
}

int RegionReader::heading_level(std::size_t i) const {
  const float ratio = size_ratio(i);
  const bool on_top = metrics_.index == 0 && first_on_page_ && blocks_.empty();
  if (on_top && (ratio > 1.1F || title_by_place(i))) return 1;
  if (const int depth = number_depth(i); depth > 0) return std::min(depth, 6);
  if (ratio >= 1.6F) return 1;
  return ratio >= 1.2F ? 2 : 3;
}

// Whether the next row belongs to the same heading: same size and weight, close below, not numbered.
bool RegionReader::heading_goes_on(std::size_t i) const {
  if (i >= rows_.size() || !heading_shape(i) || row(i).bold() != row(i - 1).bold()) return false;
  const float larger = metrics_.recognised ? kLargerRecognised : kLargerText;
  const float ratio = row(i).height / row(i - 1).height;
  const bool marked = row(i).bold() || size_ratio(i) > larger;
  return marked && ratio > 0.9F && ratio < 1.1F && gap_above(i) < kHeadingGap &&
         section_depth(row(i).words[0]->text) == 0;
}

void RegionReader::take_heading() {
  Block block{Block::Kind::kHeading, heading_level(next_), {}, row(next_).text()};
  while (heading_goes_on(++next_)) join_line(block.text, row(next_).text());
  blocks_.push_back(std::move(block));
}

// Each entry is a line.
void RegionReader::take_entries() {
  Block block{Block::Kind::kParagraph, 0, {}, {}};
  const std::size_t first = next_;
  while (begins_entries(next_) && (next_ == first || gap_above(next_) < kParagraphGap)) {
    std::string entry;
    for (std::size_t rows = entry_rows(next_); rows > 0; --rows) join_line(entry, row(next_++).text());
    if (!block.text.empty()) block.text += kLineBreak;
    block.text += entry;
  }
  blocks_.push_back(std::move(block));
}

// Whether another person begins to speak, or the next entry of a list in that style begins.
bool RegionReader::begins_speech(std::size_t i) const {
  const Row& before = row(i - 1);
  return is_speech_dash(row(i).words[0]->text) &&
         (ends_sentence(before.text()) || is_speech_dash(before.words[0]->text));
}

bool RegionReader::paragraph_ends_before(std::size_t i) const {
  if (i >= rows_.size() || row(i).figure() || gap_above(i) > kParagraphGap) return true;
  const float change = row(i).height / row(i - 1).height;
  if (change > 1.25F || change < 0.8F || lone_page_number(i) || entry_rows(i) > 0) return true;
  const float step = row(i).box.x0 - row(i - 1).box.x0;
  if (indented(i) && step > kIndent * metrics_.letters) return true;
  if (ends_short(i - 1) && ends_sentence(row(i - 1).text())) return true;
  if (begins_speech(i)) return true;
  return item_marker(i).has_value() || heading(i) || blocks_at(i) ||
         table_at(rows_, i, metrics_.letters).rows > 0;
}

// Whether the previous row was ended on purpose: the first word of this row would easily have fitted there,
// and it begins with a capital or a digit.
bool RegionReader::breaks_before(std::size_t i) const {
  const Row& before = row(i - 1);
  const std::string text = row(i).text();
  if (!starts_afresh(text) || ends_hyphenated(before.words.back()->text)) return false;
  if (before.box.x1 > box_.x0 + kShortRow * (right_edge_ - box_.x0)) return false;
  return before.box.x1 + metrics_.letters + row(i).words[0]->box.width() < right_edge_;
}

// Whether every line ends on purpose: an address, a verse, names with values.
bool RegionReader::keeps_lines(std::size_t first, std::size_t end) const {
  if (is_address(first, end)) return true;
  for (std::size_t i = first + 1; i < end; ++i) {
    if (!breaks_before(i)) return false;
  }
  return true;
}

void RegionReader::take_paragraph() {
  const std::size_t first = next_;
  while (!paragraph_ends_before(++next_)) {
  }
  const bool lines = keeps_lines(first, next_);
  Block block{Block::Kind::kParagraph, 0, {}, row(first).text()};
  for (std::size_t i = first + 1; i < next_; ++i) {
    if (lines) {
      block.text += kLineBreak + row(i).text();
    } else {
      join_line(block.text, row(i).text());
    }
  }
  blocks_.push_back(std::move(block));
}

// The items of lists.

namespace {

constexpr float kBulletGap = 0.6F;
constexpr float kNumberGap = 0.5F;
constexpr std::size_t kItemRowsMax = 8;   // rows of an item within which its neighbours are searched
constexpr std::size_t kListRowsMax = 30;  // between two asterisks

std::string text_from(const Row& row, std::size_t first) {
  Row rest{row.box, row.height, {row.words.begin() + static_cast<std::ptrdiff_t>(first), row.words.end()}};
  return rest.text();
}

// Converts "(3)" to "3)"; "3)" and "3." are already valid in markdown.
std::string plain_number(const std::string& marker) {
  const auto from = marker.front() == '(' ? 1U : 0U;
  const std::string inside = marker.substr(from, marker.size() - from - 1);
  const bool digits = std::all_of(inside.begin(), inside.end(), [](char c) { return c >= '0' && c <= '9'; });
  return digits ? inside + "." : marker;
}

}  // namespace

bool RegionReader::begins_with_asterisk(std::size_t i) const {
  return !row(i).figure() && row(i).words[0]->text == "*";
}

// Whether a row between two asterisks belongs to the item of the first one.
bool RegionReader::is_within_list(std::size_t i, float marker_x) const {
  if (begins_with_asterisk(i) || item_goes_on(i, marker_x)) return true;
  const bool is_text = !row(i).figure() && !heading(i) && entry_rows(i) == 0 && !lone_page_number(i) &&
                       table_at(rows_, i, metrics_.letters).rows == 0;
  return is_text && row(i).box.x0 > marker_x + kIndent / 2 * metrics_.letters;  // another paragraph of it
}

// Whether the row is a note to a word that ends with an asterisk, and no item among others: no other row
// begins with an asterisk at the same place, with nothing but items between them.
bool RegionReader::is_note_mark(std::size_t i) const {
  if (!has_asterisk_ || !begins_with_asterisk(i)) return false;
  const float x = row(i).box.x0;
  const auto is_item = [&](std::size_t k) {
    return begins_with_asterisk(k) && std::abs(row(k).box.x0 - x) < kSamePlace * metrics_.letters;
  };
  const std::size_t end = std::min(rows_.size(), i + kListRowsMax);
  for (std::size_t k = i + 1; k < end; ++k) {
    if (is_item(k)) return false;
    if (!is_within_list(k, x)) break;
  }
  for (std::size_t k = i; k > 0 && k + kListRowsMax > i; --k) {
    if (is_item(k - 1)) return false;
    if (!is_within_list(k - 1, x)) break;
  }
  return true;
}

std::optional<std::string> RegionReader::item_marker(std::size_t i) const {
  const Row& each = row(i);
  if (each.figure() || each.words.size() < 2) return std::nullopt;
  const std::string& first = each.words[0]->text;
  const float gap = (each.words[1]->box.x0 - each.words[0]->box.x1) / metrics_.letters;
  if (is_note_mark(i)) return std::nullopt;
  if (is_bullet(first)) return "-";
  const bool misread = metrics_.recognised ? is_misread_bullet(first) : first == "o";
  if (misread && (gap > kBulletGap || marked_like_neighbour(i))) return "-";
  if (!is_item_number(first)) return std::nullopt;
  const bool digits = std::isdigit(static_cast<unsigned char>(first[0])) != 0 || first[0] == '(';
  if (counted_with_neighbour(i)) return plain_number(first);
  const bool apart = gap > kNumberGap || gap_above(i) > kParagraphGap;
  return digits ? (apart || indented(i) ? std::optional(plain_number(first)) : std::nullopt)
                : (gap > kNumberGap ? std::optional(plain_number(first)) : std::nullopt);
}

// Whether the row before or after has a mark at the same position. Then both marks are misread bullets.
bool RegionReader::marked_like_neighbour(std::size_t i) const {
  const Word& mark = *row(i).words[0];
  if (std::isalnum(static_cast<unsigned char>(mark.text[0])) != 0)
    return false;  // lines may begin with the word "e"
  const auto marked = [&](const Row& other) {
    if (other.figure() || other.words.size() < 2) return false;
    const Word& first = *other.words[0];
    return std::abs(first.box.x0 - mark.box.x0) < kSamePlace * metrics_.letters &&
           (is_bullet(first.text) || is_misread_bullet(first.text));
  };
  return (i > 0 && marked(row(i - 1))) || (i + 1 < rows_.size() && marked(row(i + 1)));
}

// Whether a nearby row at the same position has the previous or the next number. That is no coincidence, so
// the row is a list item.
bool RegionReader::counted_with_neighbour(std::size_t i) const {
  const Word& mark = *row(i).words[0];
  const auto counted = [&](std::size_t k, bool after) {
    const Word& other = *row(k).words[0];
    const bool same_place = std::abs(other.box.x0 - mark.box.x0) < kSamePlace * metrics_.letters ||
                            std::abs(other.box.x1 - mark.box.x1) < kSamePlace * metrics_.letters;
    return same_place && is_item_number(other.text) &&
           (after ? follows_on(mark.text, other.text) : follows_on(other.text, mark.text));
  };
  const auto outside = [&](std::size_t k) {
    return row(k).figure() || row(k).box.x0 < mark.box.x0 - kIndent * metrics_.letters;
  };
  for (std::size_t k = i + 1; k < std::min(rows_.size(), i + kItemRowsMax + 1) && !outside(k); ++k) {
    if (counted(k, true)) return true;
  }
  for (std::size_t k = i; k > 0 && k + kItemRowsMax > i && !outside(k - 1); --k) {
    if (counted(k - 1, false)) return true;
  }
  return false;
}

bool RegionReader::item_goes_on(std::size_t i, float marker_x) const {
  if (i >= rows_.size() || row(i).figure() || item_marker(i) || gap_above(i) > kParagraphGap) return false;
  if (heading(i) || entry_rows(i) > 0 || table_at(rows_, i, metrics_.letters).rows > 0 || lone_page_number(i))
    return false;
  if (row(i).box.x0 > marker_x + kIndent / 2 * metrics_.letters) return true;
  const bool flush = row(i).box.x0 > marker_x - kIndent / 2 * metrics_.letters;
  return flush && !ends_short(i - 1) && !ends_sentence(row(i - 1).text());
}

int RegionReader::item_depth(float marker_x) {
  if (blocks_.empty() || blocks_.back().kind != Block::Kind::kItem) list_indents_.clear();
  while (!list_indents_.empty() && marker_x < list_indents_.back() - kIndent * metrics_.letters) {
    list_indents_.pop_back();
  }
  if (list_indents_.empty() || marker_x > list_indents_.back() + kIndent * metrics_.letters) {
    list_indents_.push_back(marker_x);
  }
  return static_cast<int>(list_indents_.size()) - 1;
}

void RegionReader::take_item(const std::string& marker) {
  const float marker_x = row(next_).box.x0;
  Block block{Block::Kind::kItem, item_depth(marker_x), marker,
              text_from(row(next_), is_content_symbol(row(next_).words[0]->text) ? 0 : 1)};
  while (item_goes_on(++next_, marker_x)) join_line(block.text, row(next_).text());
  blocks_.push_back(std::move(block));
}

}  // namespace millrace::engines
