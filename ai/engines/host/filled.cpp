#include "ai/engines/host/filled.h"

#include <algorithm>

#include <leptonica/allheaders.h>

namespace millrace::engines::host {
namespace {

constexpr int kHalfDark = 128;
// In letter heights.
constexpr float kLetterMost = 2.5F;
constexpr float kWideMin = 6;
constexpr float kHighMin = 1.3F;
constexpr float kHighMost = 5;
constexpr float kDarkMin = 0.55F;    // of a band: lines of dark letters have less
constexpr float kDarkMost = 0.998F;  // what has more has no letters

bool is_filled(Pix* part) {
  l_float32 dark = 0;
  return pixForegroundFraction(part, &dark) == 0 && dark >= kDarkMin && dark <= kDarkMost;
}

void empty(const Picture& gray, const engines::Box& band) {
  const Picture part = clipped(gray.get(), band);
  if (!part) return;
  pixInvert(part.get(), part.get());
  // Its ground is white, whatever its colour was.
  pixGammaTRC(part.get(), part.get(), 1.0F, 0, kHalfDark);
  pixSetOrClearBorder(part.get(), 1, 1, 1, 1, PIX_CLR);
  pixRasterop(gray.get(), pixel_at(band.x0), pixel_at(band.y0), width(part), height(part), PIX_SRC,
              part.get(), 0, 0);
}

// What is bright within it and as small as a letter is dark afterwards.
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

}  // namespace millrace::engines::host
