#include "ai/engines/columns.h"

#include <algorithm>
#include <optional>

namespace millrace::engines {
namespace {

constexpr int kDepthMax = 6;               // columns in columns; deeper is noise
constexpr float kGutterMin = 0.9F;         // times the letter height
constexpr std::size_t kGutterRowsMin = 4;  // on each side of a gutter
constexpr float kRowFill = 0.6F;           // prose: the median row fills this part of its column
constexpr std::size_t kRowWords = 3;       // prose: the median row has so many words
constexpr float kBandMin = 4.5F;           // height of two columns, times the letter height

constexpr float kStepsMax = 300;  // places that are tried for a gutter

struct Cut {
  float x = 0;
  float top = 0, bottom = 0;
  float gutter = 0;
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

bool is_prose(const Words& side) {
  const std::vector<Row> rows = make_rows(side);
  if (rows.size() < kGutterRowsMin) return false;
  const float width = bounds(side).width();
  std::vector<float> fills;
  std::vector<float> counts;
  for (const Row& row : rows) {
    if (row.figure()) continue;
    fills.push_back(row.box.width() / width);
    counts.push_back(static_cast<float>(row.words.size()));
  }
  return median(fills) >= kRowFill && median(counts) >= static_cast<float>(kRowWords);
}

// Of the bands of y where no box crosses `x` the tallest one. REQUIRES: `boxes` come by their y0.
Cut tallest_band(const std::vector<Box>& boxes, const Box& region, float x) {
  Cut best{x, 0, 0, 0};
  float top = region.y0;
  for (const Box& box : boxes) {
    if (box.x0 >= x || box.x1 <= x) continue;
    if (box.y0 - top > best.bottom - best.top) best = {x, top, box.y0, 0};
    top = std::max(top, box.y1);
  }
  if (region.y1 - top > best.bottom - best.top) best = {x, top, region.y1, 0};
  return best;
}

std::vector<Box> boxes_by_top(const Words& words) {
  std::vector<Box> boxes;
  boxes.reserve(words.size());
  for (const Word* word : words) boxes.push_back(word->box);
  std::sort(boxes.begin(), boxes.end(), [](const Box& a, const Box& b) { return a.y0 < b.y0; });
  return boxes;
}

// Shrinks the band to what the two sides share, and measures the gutter; 0 when a side is empty.
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

std::optional<Cut> best_cut(const Words& words, float letters) {
  const Box region = bounds(words);
  const std::vector<Box> boxes = boxes_by_top(words);
  std::optional<Cut> best;
  const float step = std::max(letters / 2, region.width() / kStepsMax);
  for (float x = region.x0 + 4 * letters; x < region.x1 - 4 * letters; x += step) {
    Cut cut = tallest_band(boxes, region, x);
    const float height = cut.bottom - cut.top;
    if (height < kBandMin * letters || (best && height <= best->bottom - best->top)) continue;
    fit(words, cut);
    if (cut.gutter < kGutterMin * letters) continue;
    const Parts parts = split(words, cut);
    if (is_prose(parts.left) && is_prose(parts.right)) best = cut;
  }
  return best;
}

void order(Words words, int depth, std::vector<Words>& out) {
  if (words.empty()) return;
  const float letters = letter_height(words);
  const auto cut = depth < kDepthMax && letters > 0 ? best_cut(words, letters) : std::nullopt;
  if (!cut) return out.push_back(std::move(words));
  Parts parts = split(words, *cut);
  order(std::move(parts.above), depth + 1, out);
  order(std::move(parts.left), depth + 1, out);
  order(std::move(parts.right), depth + 1, out);
  order(std::move(parts.below), depth + 1, out);
}

}  // namespace

std::vector<Words> reading_order(const Words& words) {
  std::vector<Words> result;
  order(words, 0, result);
  return result;
}

}  // namespace millrace::engines
