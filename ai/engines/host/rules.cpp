#include "ai/engines/host/rules.h"

#include <utility>

#include <leptonica/allheaders.h>

#include "ai/engines/host/apart.h"

namespace millrace::engines::host {
namespace {

constexpr int kPale = 190;  // darker is ink: thin lines are pale on a page that was made smaller
// Letter heights: what is shorter is a stroke of a letter.
constexpr float kAcrossMin = 4;
constexpr float kDownMin = 2.2F;
constexpr int kThick = 7;  // pixels: what fills a square of that size is no line
// Of a table, in letter heights.
constexpr float kWidthMin = 7;
constexpr float kHeightMin = 2.5F;
constexpr std::size_t kTablesMost = 32;  // of a page
constexpr l_uint32 kPaper = 255;

// The long thin strokes of one direction. Empty: no memory.
Picture strokes(Pix* ink, int across, int down) {
  Picture lines(pixOpenBrick(nullptr, ink, across, down));
  Picture solid(lines ? pixOpenBrick(nullptr, lines.get(), kThick, kThick) : nullptr);
  l_int32 none = 1;
  if (!solid || pixZero(solid.get(), &none) != 0) return {};
  if (none != 0) return lines;
  solid.reset(pixDilateBrick(nullptr, solid.get(), kThick, kThick));
  return Picture(solid ? pixSubtract(nullptr, lines.get(), solid.get()) : nullptr);
}

// Lines that touch each other, and where they are on the page.
struct Frame {
  Picture lines;
  int x = 0, y = 0;
};

// Those that are large enough to be of a table.
std::vector<Frame> frames_of(Pix* lines, float letters) {
  std::vector<Frame> frames;
  Pixa* parts = nullptr;
  Boxa* boxes = pixConnComp(lines, &parts, 8);
  for (int i = 0; boxes != nullptr && i < boxaGetCount(boxes) && frames.size() < kTablesMost; ++i) {
    int x = 0, y = 0, w = 0, h = 0;
    boxaGetBoxGeometry(boxes, i, &x, &y, &w, &h);
    const auto width = static_cast<float>(w), height = static_cast<float>(h);
    if (width >= kWidthMin * letters && height >= kHeightMin * letters)
      frames.push_back({Picture(pixaGetPix(parts, i, L_CLONE)), x, y});
  }
  boxaDestroy(&boxes);
  pixaDestroy(&parts);
  return frames;
}

// The strokes of one direction that belong to a frame.
std::vector<engines::Box> rules_of(const Frame& frame, Pix* strokes) {
  const Picture lines(pixCopy(nullptr, frame.lines.get()));
  if (!lines) return {};
  pixRasterop(lines.get(), 0, 0, width(lines), height(lines), PIX_SRC & PIX_DST, strokes, frame.x, frame.y);
  std::vector<engines::Box> rules = pieces_of(lines.get());
  const auto x = static_cast<float>(frame.x), y = static_cast<float>(frame.y);
  for (engines::Box& rule : rules) rule = {rule.x0 + x, rule.y0 + y, rule.x1 + x, rule.y1 + y};
  return rules;
}

}  // namespace

std::vector<DrawnTable> take_tables(const Picture& gray, float letters) {
  std::vector<DrawnTable> tables;
  const Picture ink(pixThresholdToBinary(gray.get(), kPale));
  if (!ink) return tables;
  const Picture down = strokes(ink.get(), 1, static_cast<int>(kDownMin * letters));
  const Picture across = strokes(ink.get(), static_cast<int>(kAcrossMin * letters), 1);
  const Picture both(down && across ? pixOr(nullptr, down.get(), across.get()) : nullptr);
  const Picture lines(both ? pixDilateBrick(nullptr, both.get(), 3, 3) : nullptr);  // with their pale edges
  if (!lines) return tables;
  for (const Frame& frame : frames_of(lines.get(), letters)) {
    auto grid = Grid::of(rules_of(frame, across.get()), rules_of(frame, down.get()), letters);
    if (!grid) continue;
    pixPaintThroughMask(gray.get(), frame.lines.get(), frame.x, frame.y, kPaper);
    tables.push_back(take_out(gray, *std::move(grid), letters));
  }
  return tables;
}

}  // namespace millrace::engines::host
