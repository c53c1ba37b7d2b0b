#include <algorithm>
#include <cctype>
#include <cmath>

#include "ai/engines/markers.h"
#include "ai/engines/region.h"

// The items of lists.
namespace millrace::engines {
namespace {

constexpr float kBulletGap = 0.6F;
constexpr float kNumberGap = 0.5F;
constexpr std::size_t kItemRowsMax = 8;  // rows of an item, when its neighbours are looked for

std::string text_from(const Row& row, std::size_t first) {
  Row rest{row.box, row.height, {row.words.begin() + static_cast<std::ptrdiff_t>(first), row.words.end()}};
  return rest.text();
}

// "(3)", "3)" and "3." as markdown knows them.
std::string plain_number(const std::string& marker) {
  const auto from = marker.front() == '(' ? 1U : 0U;
  const std::string inside = marker.substr(from, marker.size() - from - 1);
  const bool digits = std::all_of(inside.begin(), inside.end(), [](char c) { return c >= '0' && c <= '9'; });
  return digits ? inside + "." : marker;
}

}  // namespace

std::optional<std::string> RegionReader::item_marker(std::size_t i) const {
  const Row& each = row(i);
  if (each.figure() || each.words.size() < 2) return std::nullopt;
  const std::string& first = each.words[0]->text;
  const float gap = (each.words[1]->box.x0 - each.words[0]->box.x1) / metrics_.letters;
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

// The row before or after has a mark at the same place: what begins both is read from the same bullet.
bool RegionReader::marked_like_neighbour(std::size_t i) const {
  const Word& mark = *row(i).words[0];
  if (std::isalnum(static_cast<unsigned char>(mark.text[0])) != 0) return false;  // lines may begin with "e"
  const auto marked = [&](const Row& other) {
    if (other.figure() || other.words.size() < 2) return false;
    const Word& first = *other.words[0];
    return std::abs(first.box.x0 - mark.box.x0) < kSamePlace * metrics_.letters &&
           (is_bullet(first.text) || is_misread_bullet(first.text));
  };
  return (i > 0 && marked(row(i - 1))) || (i + 1 < rows_.size() && marked(row(i + 1)));
}

// A row near by at the same place has the number before or after this one's: no line of a text begins so by
// chance.
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
  if (heading(i) || table_at(rows_, i, metrics_.letters).rows > 0 || lone_page_number(i)) return false;
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
  Block block{Block::Kind::kItem, item_depth(marker_x), marker, text_from(row(next_), 1)};
  while (item_goes_on(++next_, marker_x)) join_line(block.text, row(next_).text());
  blocks_.push_back(std::move(block));
}

}  // namespace millrace::engines
