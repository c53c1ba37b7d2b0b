#include "ai/engines/host/pictures/cleanup.h"

#include <algorithm>
#include <memory>
#include <vector>

#include <leptonica/allheaders.h>

namespace millrace::engines::host {
namespace {

constexpr int kHalfDark = 128;
// In letter heights.
constexpr float kLetterMost = 2.5F;
constexpr float kWideMin = 6;
constexpr float kHighMin = 1.3F;
constexpr float kHighMost = 5;
constexpr float kDarkMin = 0.55F;    // of a band: lines of dark letters have less ink
constexpr float kDarkMost = 0.998F;  // with more ink there are no letters

bool is_filled(Pix* part) {
  l_float32 dark = 0;
  return pixForegroundFraction(part, &dark) == 0 && dark >= kDarkMin && dark <= kDarkMost;
}

void empty(const Picture& gray, const engines::Box& band) {
  const Picture part = clipped(gray.get(), band);
  if (!part) return;
  pixInvert(part.get(), part.get());
  // The background of the part is white, whatever its colour was.
  pixGammaTRC(part.get(), part.get(), 1.0F, 0, kHalfDark);
  pixSetOrClearBorder(part.get(), 1, 1, 1, 1, PIX_CLR);
  pixRasterop(gray.get(), pixel_at(band.x0), pixel_at(band.y0), width(part), height(part), PIX_SRC,
              part.get(), 0, 0);
}

// Inverts letters: bright spots within the dark area that are as small as a letter become dark.
void fill_letters(Pix* dark, float letters) {
  const Picture bright(pixInvert(nullptr, dark));
  if (!bright) return;
  for (const engines::Box& piece : pieces_of(bright.get())) {
    if (std::max(piece.width(), piece.height()) > kLetterMost * letters) continue;
    pixRasterop(dark, pixel_at(piece.x0), pixel_at(piece.y0), pixel_at(piece.width()),
                pixel_at(piece.height()), PIX_SET, nullptr, 0, 0);
  }
}

}  // namespace

void empty_filled_bands(const Picture& gray, float letters) {
  const Picture dark(pixThresholdToBinary(gray.get(), kHalfDark));
  const Picture solid(dark ? pixCopy(nullptr, dark.get()) : nullptr);
  if (!solid) return;
  fill_letters(solid.get(), letters);
  const Picture bands(pixOpenBrick(nullptr, solid.get(), static_cast<int>(kWideMin * letters),
                                   static_cast<int>(kHighMin * letters)));
  if (!bands) return;
  for (const engines::Box& band : pieces_of(bands.get())) {
    if (band.height() > kHighMost * letters) continue;
    const Picture part = clipped(dark.get(), band);
    if (part && is_filled(part.get())) empty(gray, band);
  }
}

namespace {

constexpr int kTile = 32;            // pixels: large enough that paper shows between the letters of each tile
constexpr float kDarkTiles = 0.05F;  // of the tiles at the edge
constexpr float kBrightTiles = 0.95F;
constexpr float kShade = 0.85F;  // of the brightness of the brightest paper
constexpr int kNormTile = 16;
constexpr int kDarkest = 60;    // of paper in a shadow; darker pixels are ink
constexpr int kPixelsMin = 50;  // minimum of paper pixels in a tile to measure its brightness
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

namespace {

constexpr double kDotsOfPage = 1.0 / 500;  // dots of letters are far below this fraction of the page
constexpr double kDotsOfInk =
    1.0 / 10;                      // thin slanted strokes of small letters are below this fraction of the ink
constexpr int kSmoothInk = 30;     // of smoothed gray: darker pixels become ink
constexpr int kSmoothPaper = 205;  // brighter pixels become paper

struct SelRelease {
  void operator()(Sel* sel) const { selDestroy(&sel); }
};
struct KernelRelease {
  void operator()(L_KERNEL* kernel) const { kernelDestroy(&kernel); }
};
using Kernel = std::unique_ptr<L_KERNEL, KernelRelease>;

double black_pixels(Pix* binary) {
  l_int32 count = 0;
  return binary != nullptr && pixCountPixels(binary, &count, nullptr) == 0 ? count : 0;
}

Picture lone_dots(Pix* binary) {
  const std::unique_ptr<Sel, SelRelease> dot(selCreateFromString(" o oXo o ", 3, 3, "dot"));
  return Picture(dot ? pixHMT(nullptr, binary, dot.get()) : nullptr);
}

Picture smoothed(Pix* gray) {
  const Kernel across(kernelCreateFromString(1, 3, 0, 1, "1 2 1"));
  const Kernel down(kernelCreateFromString(3, 1, 1, 0, "1 2 1"));
  return Picture(across && down ? pixConvolveSep(gray, across.get(), down.get(), 8, 1) : nullptr);
}

}  // namespace

bool speckled(Pix* binary) {
  const double dots = black_pixels(lone_dots(binary).get());
  const double page = 1.0 * pixGetWidth(binary) * pixGetHeight(binary);
  return dots > kDotsOfPage * page && dots > kDotsOfInk * black_pixels(binary);
}

Picture despeckled(Pix* gray) {
  Picture calm = smoothed(gray);
  if (calm) pixGammaTRC(calm.get(), calm.get(), 1.0F, kSmoothInk, kSmoothPaper);
  return calm;
}

}  // namespace millrace::engines::host
