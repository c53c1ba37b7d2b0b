#include "ai/engines/host/light.h"

#include <algorithm>
#include <memory>
#include <vector>

#include <leptonica/allheaders.h>

namespace millrace::engines::host {
namespace {

constexpr int kTile = 32;            // pixels: paper shows between letters in each
constexpr float kDarkTiles = 0.05F;  // of those at the edge
constexpr float kBrightTiles = 0.95F;
constexpr float kShade = 0.85F;  // of the brightest paper
constexpr int kNormTile = 16;
constexpr int kDarkest = 60;    // of paper in a shadow; what is darker is ink
constexpr int kPixelsMin = 50;  // of paper in a tile, to tell how bright it is
constexpr int kEvenPaper = 240;
constexpr int kSmooth = 2;  // tiles to each side

struct NumaRelease {
  void operator()(Numa* numa) const { numaDestroy(&numa); }
};

std::vector<int> edge_of(Pix* tiles) {
  const int across = pixGetWidth(tiles);
  const int down = pixGetHeight(tiles);
  std::vector<int> values;
  const auto take = [&](int x, int y) {
    l_uint32 value = 0;
    pixGetPixel(tiles, x, y, &value);
    values.push_back(static_cast<int>(value));
  };
  for (int x = 0; x < across; ++x) take(x, 0), take(x, down - 1);
  for (int y = 1; y + 1 < down; ++y) take(0, y), take(across - 1, y);
  return values;
}

}  // namespace

bool unevenly_lit(Pix* gray) {
  if (std::min(pixGetWidth(gray), pixGetHeight(gray)) < 2 * kTile) return false;
  const Picture paper(pixScaleGrayMinMax(gray, kTile, kTile, L_CHOOSE_MAX));
  const std::unique_ptr<Numa, NumaRelease> tiles(paper ? pixGetGrayHistogram(paper.get(), 1) : nullptr);
  float bright = 0;
  if (!tiles || numaHistogramGetValFromRank(tiles.get(), kBrightTiles, &bright) != 0) return false;
  const std::vector<int> edge = edge_of(paper.get());
  const auto shaded = std::ranges::count_if(
      edge, [bright](int tile) { return tile >= kDarkest && static_cast<float>(tile) < kShade * bright; });
  return static_cast<float>(shaded) > kDarkTiles * static_cast<float>(edge.size());
}

Picture evenly_lit(Pix* gray) {
  return Picture(pixBackgroundNorm(gray, nullptr, nullptr, kNormTile, kNormTile, kDarkest, kPixelsMin,
                                   kEvenPaper, kSmooth, kSmooth));
}

}  // namespace millrace::engines::host
