#include "ai/engines/columns.h"

#include <algorithm>
#include <optional>

#include "ai/engines/sides.h"

namespace millrace::engines {
namespace {

constexpr int kDepthMax = 6;        // columns in columns; deeper is noise
constexpr int kBandsMax = 32;       // pairs of columns that stand above each other
constexpr float kGutterMin = 0.9F;  // times the letter height
constexpr float kBandMin = 4.5F;    // height of two columns, times the letter height

constexpr int kStepsMax = 300;  // places that are tried for a gutter

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

// For each place x, rising: of the bands of y where no box crosses it the tallest one. REQUIRES: `boxes` come
// by their y0.
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

// Where a gutter is tried.
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

// Moves the cut to the middle of its gutter and measures that; 0 when a side is empty or the two hardly stand
// beside each other.
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
  std::optional<Cut> best;
  Cut refused;  // the last one: all places in a gutter make the same cut
  for (Cut& cut : tallest_bands(boxes_by_top(words), region, places_in(region, letters))) {
    const float height = cut.bottom - cut.top;
    if (height < kBandMin * letters || (best && height <= best->bottom - best->top)) continue;
    fit(words, cut);
    if (cut.gutter < kGutterMin * letters || cut == refused) continue;
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

}  // namespace millrace::engines
