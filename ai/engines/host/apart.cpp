#include "ai/engines/host/apart.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <leptonica/allheaders.h>

namespace millrace::engines::host {
namespace {

// In letter heights.
constexpr float kLineMost = 2.2F;  // what is higher may be several lines
constexpr float kBetween = 0.5F;   // two lines
constexpr float kNear = 1.05F;     // single words, each of which the recogniser reads better beside others
constexpr float kFar = 5;          // texts, or the spaces in them are taken for gaps in words
constexpr float kSpace = 0.42F;    // between words
constexpr float kSeveralLetters = 2.5F;

constexpr std::size_t kSeveral = 3;

constexpr int kSpeck = 3;  // pixels
constexpr int kMargin = 2;
constexpr int kHalfInk = 128;

struct Area {
  explicit Area(const engines::Box& box)
      : x(pixel_at(box.x0)), y(pixel_at(box.y0)), w(pixel_at(box.x1) - x), h(pixel_at(box.y1) - y) {}
  int x, y, w, h;
};

class BoxOf {
 public:
  explicit BoxOf(const Area& area) : box_(boxCreate(area.x, area.y, area.w, area.h)) {}
  ~BoxOf() { boxDestroy(&box_); }
  BoxOf(const BoxOf&) = delete;
  BoxOf& operator=(const BoxOf&) = delete;
  ::Box* get() const { return box_; }

 private:
  ::Box* box_;
};

Picture clipped(Pix* picture, const engines::Box& box) {
  const BoxOf place{Area(box)};
  return Picture(place.get() == nullptr ? nullptr : pixClipRectangle(picture, place.get(), nullptr));
}

// What is in a cell, without the white around it. nullopt: nothing but a speck.
std::optional<engines::Box> ink_in(Pix* ink, const engines::Box& cell) {
  const BoxOf place{Area(cell)};
  ::Box* found = nullptr;
  if (place.get() == nullptr || pixClipBoxToForeground(ink, place.get(), nullptr, &found) != 0 ||
      found == nullptr)
    return std::nullopt;
  int x = 0, y = 0, w = 0, h = 0;
  boxGetGeometry(found, &x, &y, &w, &h);
  boxDestroy(&found);
  if (std::max(w, h) < kSpeck) return std::nullopt;
  const auto at = [](int pixel) { return static_cast<float>(pixel); };
  return engines::Box{at(x - kMargin), at(y - kMargin), at(x + w + kMargin), at(y + h + kMargin)};
}

// The widest white between two columns of ink, in pixels.
float widest_white(Pix* ink, const engines::Box& box) {
  const Picture part = clipped(ink, box);
  Numa* columns = part ? pixCountPixelsByColumn(part.get()) : nullptr;
  float widest = 0, white = 0;
  bool begun = false;
  for (int i = 0; columns != nullptr && i < numaGetCount(columns); ++i) {
    float count = 0;
    numaGetFValue(columns, i, &count);
    if (count > 0 && begun) widest = std::max(widest, white);
    begun = begun || count > 0;
    white = count > 0 ? 0 : white + 1;
  }
  numaDestroy(&columns);
  return widest;
}

std::size_t pieces_in(Pix* ink, const engines::Box& box) {
  const Picture part = clipped(ink, box);
  return part ? pieces_of(part.get()).size() : 0;
}

// Whether most lines of several letters stand on end.
bool lies(const Grid& grid, Pix* ink, float letters) {
  int across = 0, down = 0;
  for (const Grid::CellBox& cell : grid.cells()) {
    const auto inside = ink_in(ink, cell.box);
    if (!inside || std::min(inside->width(), inside->height()) > kLineMost * letters) continue;
    if (pieces_in(ink, *inside) < kSeveral) continue;
    if (inside->width() > kSeveralLetters * letters) ++across;
    if (inside->height() > kSeveralLetters * letters) ++down;
  }
  return down > across;
}

// Puts what is in the cells of a row side by side where that is one line, and else below each other: lines
// that are not level would be read into each other.
class Spreading {
 public:
  Spreading(const Grid& grid, Pix* ink, float letters) : ink_(ink), letters_(letters) {
    std::size_t row = 0;
    for (const Grid::CellBox& cell : grid.cells()) {
      if (std::exchange(row, cell.cell.row) != cell.cell.row) place_row();
      if (const auto inside = ink_in(ink, cell.box)) row_.push_back(*inside);
    }
    place_row();
  }

  int width() const { return pixel_at(right_ + kBetween * letters_); }
  int height() const { return pixel_at(bottom_); }
  std::vector<DrawnTable::Piece> pieces() && { return std::move(pieces_); }

 private:
  void place_row() {
    if (row_.empty()) return;
    const float top = std::ranges::min(row_, {}, &engines::Box::y0).y0;
    const float end = std::ranges::max(row_, {}, &engines::Box::y1).y1;
    if (end - top <= kLineMost * letters_) {
      place_line(top, end);
    } else {
      for (const engines::Box& box : row_) {
        put(box, kBetween * letters_);
        end_line(box.height());
      }
    }
    row_.clear();
  }

  void place_line(float top, float end) {
    const bool single_words = std::ranges::all_of(
        row_, [this](const engines::Box& box) { return widest_white(ink_, box) < kSpace * letters_; });
    float x = kBetween * letters_;
    for (const engines::Box& box : row_) {
      put({box.x0, top, box.x1, end}, x);
      x += box.width() + (single_words ? kNear : kFar) * letters_;
    }
    end_line(end - top);
  }

  void put(const engines::Box& box, float x) {
    const float across = std::round(x - box.x0), down = std::round(bottom_ - box.y0);
    const engines::Box to{box.x0 + across, box.y0 + down, box.x1 + across, box.y1 + down};
    pieces_.push_back({to, across, down});
    right_ = std::max(right_, to.x1);
  }
  void end_line(float height) { bottom_ += height + kBetween * letters_; }

  Pix* ink_;
  const float letters_;
  float right_ = 0;
  float bottom_ = kBetween * letters_;
  std::vector<engines::Box> row_;
  std::vector<DrawnTable::Piece> pieces_;
};

// Empty: no memory, or nothing is in the cells.
Picture spread(const Picture& gray, const std::vector<DrawnTable::Piece>& pieces, int width, int height) {
  Picture apart(pieces.empty() ? nullptr : pixCreate(width, height, 8));
  if (!apart) return apart;
  pixSetAll(apart.get());
  for (const DrawnTable::Piece& piece : pieces) {
    const Area to(piece.box);
    pixRasterop(apart.get(), to.x, to.y, to.w, to.h, PIX_SRC, gray.get(), to.x - pixel_at(piece.across),
                to.y - pixel_at(piece.down));
  }
  return apart;
}

}  // namespace

DrawnTable take_out(const Picture& gray, Grid grid, float letters) {
  const Picture ink(pixThresholdToBinary(gray.get(), kHalfInk));
  if (!ink || lies(grid, ink.get(), letters)) return {std::move(grid), {}, {}};
  Spreading spreading(grid, ink.get(), letters);
  const int width = spreading.width(), height = spreading.height();
  std::vector<DrawnTable::Piece> pieces = std::move(spreading).pieces();
  Picture apart = spread(gray, pieces, width, height);
  const Area area(grid.box());
  if (apart) pixRasterop(gray.get(), area.x, area.y, area.w, area.h, PIX_SET, nullptr, 0, 0);
  return {std::move(grid), std::move(apart), std::move(pieces)};
}

bool put_back(const DrawnTable& table, Box& word) {
  const float x = word.middle_x(), y = word.middle_y();
  const auto from = std::ranges::find_if(table.pieces, [=](const DrawnTable::Piece& piece) {
    return piece.box.x0 <= x && x < piece.box.x1 && piece.box.y0 <= y && y < piece.box.y1;
  });
  if (from == table.pieces.end()) return false;
  word = {word.x0 - from->across, word.y0 - from->down, word.x1 - from->across, word.y1 - from->down};
  return true;
}

}  // namespace millrace::engines::host
