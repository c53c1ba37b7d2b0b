#include "ai/engines/layout/columns.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "ai/engines/layout/leaders.h"
#include "ai/engines/layout/markers.h"

namespace millrace::engines {
namespace {

constexpr int kDepthMax = 6;        // nested columns; deeper nesting is noise
constexpr int kBandsMax = 32;       // pairs of columns above each other
constexpr float kGutterMin = 0.9F;  // times the letter height
constexpr float kBandMin = 4.5F;    // height of two columns, times the letter height

constexpr int kStepsMax = 300;  // positions that are tried for a gutter

struct Cut {
  float x = 0;
  float top = 0, bottom = 0;
  float gutter = 0;
  bool operator==(const Cut&) const = default;
};

struct Parts {
  Words above, left, right, below;
};

Parts split(const Words& words, const Cut& cut) {
  Parts parts;
  for (const Word* word : words) {
    const float y = word->box.middle_y();
    if (y < cut.top) {
      parts.above.push_back(word);
    } else if (y > cut.bottom) {
      parts.below.push_back(word);
    } else if (word->box.middle_x() < cut.x) {
      parts.left.push_back(word);
    } else {
      parts.right.push_back(word);
    }
  }
  return parts;
}

// For each position x, ascending: the tallest band of y in which no box crosses x. REQUIRES: `boxes` are
// sorted by y0.
std::vector<Cut> tallest_bands(const std::vector<Box>& boxes, const Box& region,
                               const std::vector<float>& places) {
  std::vector<Cut> best;
  best.reserve(places.size());
  for (const float x : places) best.push_back({x, region.y0, region.y0, 0});
  std::vector<float> tops(places.size(), region.y0);
  const auto end_band = [&](std::size_t i, float bottom) {
    if (bottom - tops[i] > best[i].bottom - best[i].top) best[i] = {places[i], tops[i], bottom, 0};
  };
  for (const Box& box : boxes) {
    auto i =
        static_cast<std::size_t>(std::upper_bound(places.begin(), places.end(), box.x0) - places.begin());
    for (; i < places.size() && places[i] < box.x1; ++i) {
      end_band(i, box.y0);
      tops[i] = std::max(tops[i], box.y1);
    }
  }
  for (std::size_t i = 0; i < places.size(); ++i) end_band(i, region.y1);
  return best;
}

// Positions at which a gutter is tried.
std::vector<float> places_in(const Box& region, float letters) {
  const float step = std::max(letters / 2, region.width() / static_cast<float>(kStepsMax));
  std::vector<float> places;
  for (int i = 0; i < kStepsMax; ++i) {
    const float x = region.x0 + 4 * letters + static_cast<float>(i) * step;
    if (!(x < region.x1 - 4 * letters)) break;
    places.push_back(x);
  }
  return places;
}

std::vector<Box> boxes_by_top(const Words& words) {
  std::vector<Box> boxes;
  boxes.reserve(words.size());
  for (const Word* word : words) boxes.push_back(word->box);
  std::sort(boxes.begin(), boxes.end(), [](const Box& a, const Box& b) { return a.y0 < b.y0; });
  return boxes;
}

// Moves the cut to the middle of its gutter and measures the gutter; 0 when a side is empty or the sides
// hardly overlap in height.
void fit(const Words& words, Cut& cut) {
  Words left;
  Words right;
  for (const Word* word : words) {
    const float y = word->box.middle_y();
    if (y < cut.top || y > cut.bottom) continue;
    (word->box.middle_x() < cut.x ? left : right).push_back(word);
  }
  if (left.empty() || right.empty()) return;
  const Box a = bounds(left);
  const Box b = bounds(right);
  if (std::min(a.y1, b.y1) - std::max(a.y0, b.y0) < 0.5F * std::min(a.height(), b.height())) return;
  cut.gutter = b.x0 - a.x1;
  cut.x = (a.x1 + b.x0) / 2;
}

constexpr std::size_t kBlockRowsMost = 10;  // of an address or the like
constexpr std::size_t kRowsBelowMost = 3;   // such as a salutation
constexpr float kBlockGap = 1.8F;           // from one block to the next, times the letter height

// Lines that all begin afresh, as those of an address do.
bool is_block(const std::vector<Row>& rows, std::size_t count) {
  return count > 0 && count <= kBlockRowsMost &&
         std::all_of(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(count),
                     [](const Row& row) { return !row.figure() && starts_afresh(row.words.front()->text); });
}

// Where a block ends that has a few more lines below it, set apart, that nothing stands beside: they belong
// to the text below both blocks. nullopt: there are none.
std::optional<float> end_of_block(const Words& words, float bottom_beside, float letters) {
  const std::vector<Row> rows = make_rows(words);
  for (std::size_t i = rows.size() > kRowsBelowMost ? rows.size() - kRowsBelowMost : 1; i < rows.size();
       ++i) {
    const float above = rows[i - 1].box.y1, below = rows[i].box.y0;
    const bool apart = rows[i].box.y0 - rows[i - 1].box.y0 > kBlockGap * letters;
    if (apart && below > bottom_beside && is_block(rows, i)) return (above + below) / 2;
  }
  return std::nullopt;
}

// Ends the band of two blocks of lines where the lower one ends.
void leave_lines_below(const Words& words, float letters, Cut& cut) {
  const Parts parts = split(words, cut);
  const float left = bounds(parts.left).y1, right = bounds(parts.right).y1;
  const Words &longer = left > right ? parts.left : parts.right,
              &shorter = left > right ? parts.right : parts.left;
  const std::vector<Row> rows = make_rows(shorter);
  if (parts.below.empty() || !is_block(rows, rows.size())) return;
  if (const auto end = end_of_block(longer, std::min(left, right), letters)) cut.bottom = *end;
}

std::optional<Cut> best_cut(const Words& words, float letters) {
  const Box region = bounds(words);
  std::optional<Cut> best;
  Cut refused;  // the last one: all positions in a gutter make the same cut
  for (Cut& cut : tallest_bands(boxes_by_top(words), region, places_in(region, letters))) {
    const float height = cut.bottom - cut.top;
    if (height < kBandMin * letters || (best && height <= best->bottom - best->top)) continue;
    fit(words, cut);
    if (cut.gutter < kGutterMin * letters || cut == refused) continue;
    leave_lines_below(words, letters, cut);
    const Parts parts = split(words, cut);
    if (are_columns(parts.left, parts.right, letters)) {
      best = cut;
    } else {
      refused = cut;
    }
  }
  return best;
}

void order(Words words, int depth, int bands, std::vector<Words>& out) {
  if (words.empty()) return;
  const float letters = letter_height(words);
  const bool may_have = depth < kDepthMax && bands < kBandsMax && letters > 0;
  const auto cut = may_have ? best_cut(words, letters) : std::nullopt;
  if (!cut) return out.push_back(std::move(words));
  Parts parts = split(words, *cut);
  order(std::move(parts.above), depth, bands + 1, out);
  order(std::move(parts.left), depth + 1, bands, out);
  order(std::move(parts.right), depth + 1, bands, out);
  order(std::move(parts.below), depth, bands + 1, out);
}

}  // namespace

std::vector<Words> reading_order(const Words& words) {
  std::vector<Words> result;
  order(words, 0, 0, result);
  return result;
}

namespace {

constexpr std::size_t kGutterRowsMin = 4;  // on each side of a gutter
constexpr float kRowFill = 0.6F;           // prose: the median row fills at least this part of its column
constexpr std::size_t kRowWords = 3;       // prose: the median row has at least this many words
// Prose among other content, such as tables in a column of a paper: this part of the rows is full and has
// this many words.
constexpr float kFullRow = 0.85F;
constexpr std::size_t kFullRowWords = 6;
constexpr float kFullRows = 0.2F;

constexpr float kAligned =
    0.8F;  // table: at least this part of the rows has a row at the same height on the other side
constexpr float kAlignedBy = 0.25F;     // times the letter height
constexpr float kTablePitch = 1.9F;     // rows side by side with a larger pitch belong to a table
constexpr float kRiverMin = 0.8F;       // times the letter height: white space through all rows of a side
constexpr float kCellWordsMax = 0.12F;  // prose: at most this part of its words is in narrow columns
constexpr float kLeader = 3;            // times the letter height

constexpr float kSidebarWidth = 0.7F;  // of the width of the text beside it
constexpr float kSidebarPitch = 2.2F;  // times the letter height
constexpr std::size_t kNextToRunningMin = 2;
constexpr std::ptrdiff_t kAmountRowsMin = 2;
constexpr float kAmountRows = 0.25F;
constexpr std::size_t kIndependentMin = 6;  // rows
constexpr float kIndependentPitch = 1.7F;   // times the letter height
constexpr float kExactlyBy = 0.2F;          // times the letter height
constexpr float kIndependentMost = 0.45F;   // of the rows are at the same heights

bool is_prose(const std::vector<Row>& rows, float width) {
  if (rows.size() < kGutterRowsMin) return false;
  std::vector<float> fills;
  std::vector<float> counts;
  std::size_t full = 0;
  for (const Row& row : rows) {
    if (row.figure()) continue;
    fills.push_back(row.box.width() / width);
    counts.push_back(static_cast<float>(row.words.size()));
    if (fills.back() >= kFullRow && row.words.size() >= kFullRowWords) ++full;
  }
  const bool enough =
      full >= kGutterRowsMin && static_cast<float>(full) >= kFullRows * static_cast<float>(rows.size());
  if (enough) return true;
  return median(fills) >= kRowFill && median(counts) >= static_cast<float>(kRowWords);
}

// The first row, and the row after the last, that overlap the other side in height.
std::array<std::size_t, 2> beside(const std::vector<Row>& rows, const std::vector<Row>& others) {
  const float top = others.front().box.y0, bottom = others.back().box.y1;
  std::size_t first = 0, end = rows.size();
  while (first < end && rows[first].box.middle_y() < top) ++first;
  while (end > first && rows[end - 1].box.middle_y() > bottom) --end;
  return {first, end};
}

// Which part of the rows of both sides are at the same heights, of the side that has fewer. Rows less than
// `apart_most` from each other are.
float common_heights(const std::vector<Row>& left, const std::vector<Row>& right, float apart_most) {
  auto [i, left_end] = beside(left, right);
  auto [k, right_end] = beside(right, left);
  const std::size_t fewer = std::min(left_end - i, right_end - k);
  std::size_t common = 0;
  while (i < left_end && k < right_end) {
    const float apart = left[i].box.middle_y() - right[k].box.middle_y();
    const bool together = std::abs(apart) < apart_most;
    if (together) ++common;
    if (together || apart < 0) ++i;
    if (together || apart > 0) ++k;
  }
  return fewer == 0 ? 1 : static_cast<float>(common) / static_cast<float>(fewer);
}

// Lines of prose in two columns may be aligned, too.
bool aligned(const std::vector<Row>& left, const std::vector<Row>& right, float letters) {
  return common_heights(left, right, kAlignedBy * letters) >= kAligned;
}

std::vector<float> row_steps(const std::vector<Row>& rows) {
  std::vector<float> steps;
  for (std::size_t i = 1; i < rows.size(); ++i) steps.push_back(rows[i].box.y0 - rows[i - 1].box.y0);
  return steps;
}

float row_step(const std::vector<Row>& rows) { return median(row_steps(rows)); }

// The typical number of words in a non-empty row; `rows` has the count of each row.
float usual_count(std::vector<std::size_t> rows) {
  std::sort(rows.begin(), rows.end());
  std::vector<float> counts;
  for (std::size_t first = 0, end = 0; first < rows.size(); first = end) {
    while (end < rows.size() && rows[end] == rows[first]) ++end;
    counts.push_back(static_cast<float>(end - first));
  }
  return median(std::move(counts));
}

bool is_list(const std::vector<Row>& rows) {
  const auto items = std::count_if(rows.begin(), rows.end(),
                                   [](const Row& row) { return is_list_marker(row.words.front()->text); });
  return static_cast<std::size_t>(items) * 3 >= rows.size();
}

// Whether rivers cut the side into columns and some of its words are in columns too narrow for prose. Columns
// of list marks and the like contain few words or none.
bool has_narrow_columns(const std::vector<Row>& rows, float letters) {
  struct Span {
    float from, to;
    std::size_t row;
  };
  std::vector<Span> spans;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    // A leader leads to the number after it.
    for (const Word* word : rows[i].leaders)
      spans.push_back({word->box.x0, word->box.x1 + kLeader * letters, i});
    for (const Word* word : rows[i].words) {
      const bool marker = word == rows[i].words.front() && is_list_marker(word->text);
      const float to = word->box.x1 + (dots_of(word->text) > 0 ? kLeader * letters : 0);
      if (!marker && !word->figure) spans.push_back({word->box.x0, to, i});
    }
  }
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.from < b.from; });
  std::size_t in_cells = 0;
  for (std::size_t first = 0; first < spans.size();) {
    float reach = spans[first].to;
    std::size_t end = first;
    std::vector<std::size_t> in_rows;
    for (; end < spans.size() && spans[end].from - reach <= kRiverMin * letters; ++end) {
      reach = std::max(reach, spans[end].to);
      in_rows.push_back(spans[end].row);
    }
    if (usual_count(std::move(in_rows)) < static_cast<float>(kRowWords)) in_cells += end - first;
    first = end;
  }
  return static_cast<float>(in_cells) > kCellWordsMax * static_cast<float>(spans.size());
}

// Whether the row continues the sentence of the row above.
bool runs_on_from_above(const std::vector<Row>& rows, std::size_t i) {
  if (i == 0 || rows[i].figure() || rows[i - 1].figure()) return false;
  return starts_lower(rows[i].words.front()->text) && !ends_sentence(rows[i - 1].words.back()->text);
}

// The number of rows of the text that continue the row above and have a row of the side beside them that does
// not.
std::size_t next_to_running_rows(const std::vector<Row>& side, const std::vector<Row>& text, float letters) {
  const float near = letters / 2;
  std::size_t count = 0;
  auto from = side.begin();  // rows before it are above this row of the text and all later ones
  for (std::size_t i = 0; i < text.size(); ++i) {
    const Box& box = text[i].box;
    while (from != side.end() && from->box.y1 < box.y0 - near) ++from;
    if (!runs_on_from_above(text, i)) continue;
    for (auto row = from; row != side.end() && row->box.y0 < box.middle_y() + near; ++row) {
      if (std::abs(row->box.middle_y() - box.middle_y()) >= near) continue;
      if (starts_lower(row->words.front()->text)) continue;
      ++count;
      break;
    }
  }
  return count;
}

// Whether a sentence begins within the row, or a word is hyphenated at its end.
bool breaks_anywhere(const Row& row) {
  for (std::size_t k = 1; k < row.words.size(); ++k) {
    if (ends_sentence(row.words[k - 1]->text) && starts_afresh(row.words[k]->text)) return true;
  }
  return ends_hyphenated(row.words.back()->text);
}

// Whether the text is continuous over all of its rows, past the rows of the side. Descriptions of names are
// also set in rows and continue in lower case, but each breaks off at its end.
bool runs_past(const std::vector<Row>& side, const std::vector<Row>& text, float letters) {
  return std::ranges::any_of(text, breaks_anywhere) &&
         next_to_running_rows(side, text, letters) >= kNextToRunningMin;
}

bool are_marks(const std::vector<Row>& rows) {
  const auto marks = std::ranges::count_if(
      rows, [](const Row& row) { return row.words.size() == 1 && is_list_marker(row.words.front()->text); });
  return static_cast<std::size_t>(marks) * 2 > rows.size();
}

// Whether some rows consist of amounts alone, as those of a table do and those of prose do not.
bool has_rows_of_amounts(const std::vector<Row>& rows) {
  const auto amounts = std::ranges::count_if(rows, [](const Row& row) {
    return !row.figure() &&
           std::ranges::all_of(row.words, [](const Word* word) { return is_amount(word->text); });
  });
  return amounts >= kAmountRowsMin &&
         static_cast<float>(amounts) >= kAmountRows * static_cast<float>(rows.size());
}

// The step that two thirds of the steps exceed or equal.
float close_step(const std::vector<Row>& rows) {
  std::vector<float> steps = row_steps(rows);
  std::ranges::sort(steps);
  return steps.empty() ? 0 : steps[steps.size() / 3];
}

// Whether both sides have many rows, close to each other and not at the same heights: those of a table are,
// or a side has wide steps beside the lines of the other one.
bool are_independent(const std::vector<Row>& left, const std::vector<Row>& right, float letters) {
  if (std::min(left.size(), right.size()) < kIndependentMin) return false;
  if (has_rows_of_amounts(left) || has_rows_of_amounts(right)) return false;
  if (std::max(close_step(left), close_step(right)) > kIndependentPitch * letters) return false;
  return common_heights(left, right, kExactlyBy * letters) < kIndependentMost;
}

// Short rows, close to each other, beside text. A sidebar's rows lie between the rows of the text, or beside
// rows that continue a sentence. Names beside their descriptions are a table: they lie where a description
// begins. List marks belong to the items beside them.
bool is_sidebar(const std::vector<Row>& side, const std::vector<Row>& text, float letters) {
  if (side.size() < kGutterRowsMin || row_step(side) > kSidebarPitch * letters) return false;
  const float width = bounds(text).width();
  if (bounds(side).width() > kSidebarWidth * width || !is_prose(text, width)) return false;
  if (are_marks(side) || (aligned(side, text, letters) && !runs_past(side, text, letters))) return false;
  return !has_narrow_columns(text, letters);
}

}  // namespace

bool are_columns(const Words& left_words, const Words& right_words, float letters) {
  const std::vector<Row> left = make_rows(left_words);
  const std::vector<Row> right = make_rows(right_words);
  if (is_sidebar(left, right, letters) || is_sidebar(right, left, letters)) return true;
  if (are_independent(left, right, letters)) return true;
  if (!is_prose(left, bounds(left_words).width()) || !is_prose(right, bounds(right_words).width()))
    return false;
  if (!aligned(left, right, letters)) return true;
  if (has_rows_of_amounts(left) || has_rows_of_amounts(right)) return false;
  const bool wide = std::min(row_step(left), row_step(right)) > kTablePitch * letters;
  if (wide && !is_list(left) && !is_list(right)) return false;
  return !has_narrow_columns(left, letters) && !has_narrow_columns(right, letters);
}

}  // namespace millrace::engines
