#include "ai/engines/host/documents/figures.h"

#include <algorithm>

#include <leptonica/allheaders.h>

namespace millrace::engines::host {
namespace {

constexpr int kInk = 250;             // anything darker is ink
constexpr int kJoin = 5;              // maximum distance in pixels between pieces of one picture
constexpr float kPartMin = 0.01F;     // minimum fraction of the page
constexpr float kPartMax = 0.9F;      // maximum fraction; a larger piece is the background
constexpr float kDensityMin = 0.25F;  // of the box: with less ink it is a frame or a drawing around text
constexpr std::size_t kFiguresMax = 50;

struct Release {
  void operator()(Boxa* boxa) const { boxaDestroy(&boxa); }
  void operator()(::Box* box) const { boxDestroy(&box); }
};

void erase(Pix* binary, const Box& word, float scale) {
  const auto at = [scale](float value) { return pixel_at(value * scale); };
  const std::unique_ptr<::Box, Release> box(
      boxCreate(at(word.x0) - 1, at(word.y0) - 1, at(word.width()) + 3, at(word.height()) + 3));
  if (box) pixClearInRect(binary, box.get());
}

bool dense(Pix* ink, int x, int y, int w, int h) {
  const std::unique_ptr<::Box, Release> box(boxCreate(x, y, w, h));
  const Picture piece(box ? pixClipRectangle(ink, box.get(), nullptr) : nullptr);
  l_int32 count = 0;
  if (!piece || pixCountPixels(piece.get(), &count, nullptr) != 0) return false;
  return static_cast<float>(count) >= kDensityMin * static_cast<float>(w) * static_cast<float>(h);
}

}  // namespace

std::vector<Box> find_figures(const Picture& gray, const PageText& text) {
  std::vector<Box> figures;
  const Picture ink(pixConvertTo1(gray.get(), kInk));
  if (!ink || text.width <= 0) return figures;
  const float scale = static_cast<float>(width(gray)) / text.width;
  for (const Word& word : text.words) erase(ink.get(), word.box, scale);
  const Picture closed(pixCloseSafeBrick(nullptr, ink.get(), kJoin, kJoin));
  if (!closed) return figures;
  const std::unique_ptr<Boxa, Release> boxes(pixConnCompBB(closed.get(), 8));
  const auto page_area = static_cast<float>(width(gray)) * static_cast<float>(height(gray));
  for (int i = 0; boxes && i < boxaGetCount(boxes.get()) && figures.size() < kFiguresMax; ++i) {
    int x = 0, y = 0, w = 0, h = 0;
    boxaGetBoxGeometry(boxes.get(), i, &x, &y, &w, &h);
    const float part = static_cast<float>(w) * static_cast<float>(h) / page_area;
    if (part < kPartMin || part > kPartMax || !dense(ink.get(), x, y, w, h)) continue;
    const auto back = [scale](int value) { return static_cast<float>(value) / scale; };
    figures.push_back({back(x), back(y), back(x + w), back(y + h)});
  }
  return figures;
}

}  // namespace millrace::engines::host
