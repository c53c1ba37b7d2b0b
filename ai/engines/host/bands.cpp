#include "ai/engines/host/bands.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include <leptonica/allheaders.h>

namespace millrace::engines::host {
namespace {

constexpr int kLongerThan = 2;  // times its short side; what is squarer than that is a large sheet
constexpr int kBandMax = 3600;  // pixels: half of kSideMax, so that no band is halved
constexpr int kInkBelow = 128;

bool is_wide(const Picture& picture) { return width(picture) > height(picture); }

// Where the band that begins at `first` ends, if it may end before `last`.
int end_of_band(const std::vector<int>& ink, int first, int last) {
  const auto at = [&ink](int row) { return ink[static_cast<std::size_t>(row)]; };
  const int earliest = first + (last - first) / 2;
  int best = last;
  int best_ink = -1;
  int best_rows = 0;
  for (int row = earliest; row < last;) {
    int end = row + 1;
    while (end < last && at(end) == at(row)) ++end;
    const bool fewer = best_ink < 0 || at(row) < best_ink;
    if (fewer || (at(row) == best_ink && end - row >= best_rows)) {
      best = row + (end - row + 1) / 2;
      best_ink = at(row);
      best_rows = end - row;
    }
    row = end;
  }
  return best;
}

// Dark pixels of each row, or bright ones where most of the picture is dark.
std::vector<int> ink_of(Pix* binary) {
  Numa* counts = pixCountPixelsByRow(binary, nullptr);
  std::vector<int> ink(static_cast<std::size_t>(pixGetHeight(binary)));
  for (std::size_t row = 0; counts != nullptr && row < ink.size(); ++row) {
    numaGetIValue(counts, static_cast<l_int32>(row), &ink[row]);
  }
  numaDestroy(&counts);
  const auto all = std::accumulate(ink.begin(), ink.end(), std::int64_t{0});
  const std::int64_t across = pixGetWidth(binary);
  if (2 * all < across * pixGetHeight(binary)) return ink;
  for (int& row : ink) row = static_cast<int>(across) - row;
  return ink;
}

}  // namespace

bool is_long(const Picture& picture) {
  const int longer = std::max(width(picture), height(picture));
  const int shorter = std::min(width(picture), height(picture));
  return longer > kSideMax && longer > kLongerThan * std::int64_t{shorter};
}

std::vector<Band> bands_of(const std::vector<int>& ink, int rows_max) {
  std::vector<Band> bands;
  const int rows = static_cast<int>(ink.size());
  for (int first = 0; first < rows;) {
    const int last = first + rows_max;
    const int end = last >= rows ? rows : std::max(first + 1, end_of_band(ink, first, last));
    bands.push_back({first, end});
    first = end;
  }
  return bands;
}

std::vector<Band> bands_of(const Picture& gray) {
  Picture binary(pixConvertTo1(gray.get(), kInkBelow));
  if (binary && is_wide(gray)) binary = turned(binary, 1);
  return binary ? bands_of(ink_of(binary.get()), kBandMax) : std::vector<Band>{};
}

Picture cut_out(const Picture& gray, Band band) {
  const int length = band.end - band.first;
  ::Box* box = is_wide(gray) ? boxCreate(band.first, 0, length, height(gray))
                             : boxCreate(0, band.first, width(gray), length);
  Picture piece(box == nullptr ? nullptr : pixClipRectangle(gray.get(), box, nullptr));
  boxDestroy(&box);
  return piece;
}

}  // namespace millrace::engines::host
