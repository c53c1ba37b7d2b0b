#include "ai/engines/host/rules.h"

#include <algorithm>
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
constexpr std::size_t kFramesMost = 256;
constexpr float kBodyHeight = 14;  // letter heights of a cell that may be the body of a page within its frame
constexpr float kBodyPart = 0.4F;  // of the grid
constexpr int kFaint = 175;        // of the letters in a table
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

// Those that touch the first one at the top: without what else lies within their box.
Picture touching_top(Pix* lines) {
  Picture seed(pixCreateTemplate(lines));
  if (!seed) return seed;
  l_uint32 ink = 0;
  for (int x = 0; x < pixGetWidth(lines) && ink == 0; ++x) {
    pixGetPixel(lines, x, 0, &ink);
    pixSetPixel(seed.get(), x, 0, ink);
  }
  return Picture(pixSeedfillBinary(nullptr, seed.get(), lines, 8));
}

// Those that are large enough to be of a table.
std::vector<Frame> frames_of(Pix* lines, float letters) {
  std::vector<Frame> frames;
  for (const engines::Box& box : pieces_of(lines)) {
    if (box.width() < kWidthMin * letters || box.height() < kHeightMin * letters) continue;
    if (frames.size() == kFramesMost) break;
    Picture part = clipped(lines, box);
    if (part) part = touching_top(part.get());
    if (part) frames.push_back({std::move(part), pixel_at(box.x0), pixel_at(box.y0)});
  }
  return frames;
}

struct Drawn {
  Frame frame;
  Grid grid;
};

// The strokes of one direction that belong to a frame.
std::vector<engines::Box> rules_of(const Frame& frame, Pix* of_direction) {
  const Picture lines(pixCopy(nullptr, frame.lines.get()));
  if (!lines) return {};
  pixRasterop(lines.get(), 0, 0, width(lines), height(lines), PIX_SRC & PIX_DST, of_direction, frame.x,
              frame.y);
  std::vector<engines::Box> rules = pieces_of(lines.get());
  const auto x = static_cast<float>(frame.x), y = static_cast<float>(frame.y);
  for (engines::Box& rule : rules) rule = {rule.x0 + x, rule.y0 + y, rule.x1 + x, rule.y1 + y};
  return rules;
}

bool has_body(const Grid& grid, float letters) {
  const float all = grid.box().width() * grid.box().height();
  return std::ranges::any_of(grid.cells(), [=](const Grid::CellBox& cell) {
    return cell.box.height() > kBodyHeight * letters &&
           cell.box.width() * cell.box.height() > kBodyPart * all;
  });
}

// The lines of `both` directions that draw tables.
std::vector<Drawn> drawn_on(Pix* across, Pix* down, float letters) {
  std::vector<Drawn> found;
  const Picture both(pixOr(nullptr, down, across));
  const Picture lines(both ? pixDilateBrick(nullptr, both.get(), 3, 3) : nullptr);  // with their pale edges
  if (!lines) return found;
  for (Frame& frame : frames_of(lines.get(), letters)) {
    auto grid = Grid::of(rules_of(frame, across), rules_of(frame, down), letters);
    if (grid && !has_body(*grid, letters) && found.size() < kTablesMost)
      found.push_back({std::move(frame), *std::move(grid)});
  }
  return found;
}

void wipe_lines(const Picture& gray, const Frame& frame) {
  pixPaintThroughMask(gray.get(), frame.lines.get(), frame.x, frame.y, kPaper);
}

void wipe(const Picture& gray, const engines::Box& box) {
  const int x = pixel_at(box.x0), y = pixel_at(box.y0);
  pixRasterop(gray.get(), x, y, pixel_at(box.x1) - x, pixel_at(box.y1) - y, PIX_SET, nullptr, 0, 0);
}

}  // namespace

std::vector<DrawnTable> take_tables(const Picture& gray, float letters) {
  std::vector<DrawnTable> tables;
  const Picture ink(pixThresholdToBinary(gray.get(), kPale));
  if (!ink) return tables;
  const Picture down = strokes(ink.get(), 1, static_cast<int>(kDownMin * letters));
  const Picture across = strokes(ink.get(), static_cast<int>(kAcrossMin * letters), 1);
  if (!down || !across) return tables;
  std::vector<Drawn> found = drawn_on(across.get(), down.get(), letters);
  const Picture bare(found.empty() ? nullptr : pixCopy(nullptr, gray.get()));
  if (!bare) return tables;
  for (const Drawn& each : found) wipe_lines(bare, each.frame);
  const Picture rest(pixThresholdToBinary(bare.get(), kFaint));
  if (!rest) return tables;
  for (Drawn& each : found) {
    const bool paper = is_written_over(each.grid, rest.get(), letters);
    auto table = paper ? std::nullopt : set_apart(bare, rest.get(), each.grid, letters);
    if (paper || table) wipe_lines(gray, each.frame);
    if (!table) continue;
    wipe(gray, each.grid.box());
    tables.push_back(*std::move(table));
  }
  return tables;
}

}  // namespace millrace::engines::host
