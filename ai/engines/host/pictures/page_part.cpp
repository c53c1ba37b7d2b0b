#include "ai/engines/host/pictures/page_part.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <leptonica/allheaders.h>

#include "ai/engines/host/pictures/cleanup.h"
#include "ai/engines/host/pictures/drawn_tables.h"

namespace millrace::engines::host {
namespace {

constexpr float kWhitePoint = 0.90F;
constexpr float kBlackPoint = 0.30F;
constexpr float kRadians = 3.14159265F / 180;
constexpr int kDark = 128;
constexpr float kSpeckMost = 2;  // pixels
constexpr float kFlat = 4;       // a component this much wider than high is a rule
constexpr double kEnlargeMost = 4;
constexpr double kAboutRight = 0.1;  // a scale this close to the wanted one is good enough
constexpr float kWorthIt = 1.15F;    // an enlargement
constexpr int kPartPixelsMost = 20'000'000;

// The median height of the components that may be letters; 0: there are none.
float letters_in(Pix* gray) {
  const Picture ink(pixConvertTo1(gray, kDark));
  std::vector<float> heights;
  for (const engines::Box& piece : ink ? pieces_of(ink.get()) : std::vector<engines::Box>()) {
    if (piece.height() > kSpeckMost && piece.width() < kFlat * piece.height())
      heights.push_back(piece.height());
  }
  if (heights.empty()) return 0;
  const auto middle = heights.begin() + static_cast<std::ptrdiff_t>(heights.size() / 2);
  std::ranges::nth_element(heights, middle);
  return *middle;
}

// A rectangle of the picture, white where it lies outside.
Picture cut(const Picture& picture, int x, int y, int across, int down) {
  Picture part(pixCreate(across, down, 8));
  if (!part) return part;
  pixSetAll(part.get());
  pixRasterop(part.get(), 0, 0, across, down, PIX_SRC, picture.get(), x, y);
  return part;
}

// The box of the straight page, cut out of the page as it was, in its pixels.
Picture straight_cut(const Prepared& page, int x, int y, int across, int down) {
  if (page.angle == 0) return cut(page.upright, x, y, across, down);
  const double sine = std::sin(page.angle * kRadians), cosine = std::cos(page.angle * kRadians);
  const double middle_x = width(page.upright) / 2.0, middle_y = height(page.upright) / 2.0;
  const double dx = x + across / 2.0 - middle_x, dy = y + down / 2.0 - middle_y;
  const int margin = static_cast<int>(std::ceil(std::fabs(sine) * std::max(across, down))) + 2;
  const double from_x = middle_x + dx * cosine + dy * sine, from_y = middle_y + dy * cosine - dx * sine;
  Picture part = cut(page.upright, static_cast<int>(std::lround(from_x - across / 2.0)) - margin,
                     static_cast<int>(std::lround(from_y - down / 2.0)) - margin, across + 2 * margin,
                     down + 2 * margin);
  if (part) part = rotated(part, page.angle);
  return part ? cut(part, margin, margin, across, down) : Picture();
}

// Takes out what the page lacks, too: it would be read as letters now.
void erase_taken(const Picture& gray, const Prepared& page, int x, int y) {
  const auto by = static_cast<float>(page.upright_scale);
  const auto left = static_cast<float>(x), top = static_cast<float>(y);
  const auto right = left + static_cast<float>(width(gray)), bottom = top + static_cast<float>(height(gray));
  for (const engines::Box& box : page.erased) {
    const bool outside =
        box.x1 * by < left || box.x0 * by > right || box.y1 * by < top || box.y0 * by > bottom;
    if (!outside)
      fill_white(gray, {box.x0 * by - left, box.y0 * by - top, box.x1 * by - left, box.y1 * by - top});
  }
}

}  // namespace

void whiten(const Picture& gray, int paper) {
  const auto level = static_cast<float>(paper);
  pixGammaTRC(gray.get(), gray.get(), 1.0F, static_cast<int>(kBlackPoint * level),
              static_cast<int>(kWhitePoint * level));
}

std::vector<engines::Box> pale_boxes(const Prepared& page) {
  std::vector<engines::Box> boxes;
  if (!page.upright) return boxes;
  const float sine = std::sin(page.angle * kRadians), cosine = std::cos(page.angle * kRadians);
  const float middle_x = static_cast<float>(width(page.upright)) / 2,
              middle_y = static_cast<float>(height(page.upright)) / 2;
  const auto by = static_cast<float>(page.upright_scale);
  for (const engines::Box& box : page.pale) {
    const float dx = box.middle_x() - middle_x, dy = box.middle_y() - middle_y;
    const float x = middle_x + dx * cosine - dy * sine, y = middle_y + dy * cosine + dx * sine;
    const float across = box.width() / 2, down = box.height() / 2;
    boxes.push_back({(x - across) / by, (y - down) / by, (x + across) / by, (y + down) / by});
  }
  return boxes;
}

Picture rotated(const Picture& gray, float degrees) {
  return Picture(pixRotate(gray.get(), degrees * kRadians, L_ROTATE_AREA_MAP, L_BRING_IN_WHITE, 0, 0));
}

PagePart part_of(const Prepared& page, const Box& box, float letters) {
  PagePart part;
  if (!page.upright) return part;
  const auto on_page = [&](float place) { return pixel_at(place * static_cast<float>(page.upright_scale)); };
  const int x = std::max(on_page(box.x0), 0), y = std::max(on_page(box.y0), 0);
  const int across = std::min(on_page(box.x1), width(page.upright)) - x;
  const int down = std::min(on_page(box.y1), height(page.upright)) - y;
  if (across <= 0 || down <= 0) return part;
  Picture gray = straight_cut(page, x, y, across, down);
  if (!gray) return part;
  whiten(gray, page.paper);
  erase_taken(gray, page, x, y);
  const float found = letters_in(gray.get());
  if (found == 0) return part;
  double scale = std::min<double>(letters / found, kEnlargeMost);
  const double most = std::sqrt(static_cast<double>(kPartPixelsMost) / (double{1} * across * down));
  scale = std::min(scale, most);
  if (std::fabs(scale - 1) < kAboutRight) scale = 1;
  const auto by = static_cast<float>(scale);
  if (scale != 1) gray.reset(pixScaleGeneral(gray.get(), by, by, 0, 0));
  if (!gray) return part;
  empty_filled_bands(gray, found * by);
  part = {std::move(gray), scale * page.upright_scale, static_cast<float>(x / page.upright_scale),
          static_cast<float>(y / page.upright_scale), found * by};
  return part;
}

std::optional<TablePart> larger(const DrawnTable& table, const Prepared& page, float letters) {
  const auto scale = static_cast<float>(page.scale);
  const Box grid = table.grid.box();
  PagePart part =
      part_of(page, {grid.x0 / scale, grid.y0 / scale, grid.x1 / scale, grid.y1 / scale}, letters);
  if (!part.gray) return std::nullopt;
  const auto by = static_cast<float>(part.scale / page.scale);
  const double pixels = double{1} * width(table.apart) * height(table.apart) * by * by;
  if (by < kWorthIt || pixels > kPartPixelsMost) return std::nullopt;
  erase_rules(part.gray, part.letters);
  const auto at = [by](int length) { return static_cast<int>(std::ceil(static_cast<float>(length) * by)); };
  TablePart result{{table.grid, Picture(pixCreate(at(width(table.apart)), at(height(table.apart)), 8)), {}},
                   part.scale,
                   part.x,
                   part.y};
  if (!result.table.apart) return std::nullopt;
  pixSetAll(result.table.apart.get());
  const auto corner = [&](float place, float of_part) {
    return std::round((place / scale - of_part) * static_cast<float>(part.scale));
  };
  for (const DrawnTable::Piece& piece : table.pieces) {
    const float x = std::round(piece.box.x0 * by), y = std::round(piece.box.y0 * by);
    const float from_x = corner(piece.box.x0 - piece.across, part.x);
    const float from_y = corner(piece.box.y0 - piece.down, part.y);
    const float across = std::round(piece.box.width() * by), down = std::round(piece.box.height() * by);
    pixRasterop(result.table.apart.get(), pixel_at(x), pixel_at(y), pixel_at(across), pixel_at(down), PIX_SRC,
                part.gray.get(), pixel_at(from_x), pixel_at(from_y));
    result.table.pieces.push_back({{x, y, x + across, y + down}, x - from_x, y - from_y});
  }
  return result;
}

}  // namespace millrace::engines::host
