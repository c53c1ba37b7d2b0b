#include "ai/engines/host/pictures/drawn_tables.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <leptonica/allheaders.h>

namespace millrace::engines::host {
namespace {

// In letter heights.
constexpr float kLineMost = 2.2F;  // taller content may be several lines
constexpr float kBetween = 0.5F;   // distance between two lines
constexpr float kNear =
    1.05F;  // distance between single words, each of which is recognised better beside others
constexpr float kFar =
    5;  // distance between texts; less, and spaces within texts would be taken for gaps in words
constexpr float kSpace = 0.42F;  // width of a space
constexpr float kTwoLetters = 1.6F;

constexpr int kSeveral = 3;
constexpr int kText = 60;  // number of pieces: fewer may belong to a drawing

constexpr int kSpeck = 3;  // pixels
constexpr int kMargin = 2;
constexpr float kTouches = 2;  // pixels beside a line within which ink touches it

constexpr float kPicture = 4;           // letter heights: a piece of ink this large is not a letter
constexpr float kPictureInk = 0.15F;    // of its box: with less ink it is a line of a chart
constexpr float kWrittenOver = 0.3F;    // minimum fraction of the pieces
constexpr int kSideOfPicture = 32'000;  // Tesseract accepts no larger pictures
constexpr double kPagesMost = 4;        // maximum size of the result, in pages

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

// The box of a cell and the box of its content.
struct Content {
  engines::Box cell, ink;
};

// The contents of all cells, without specks.
std::vector<Content> contents_of(const Grid& grid, Pix* ink) {
  std::vector<Content> all;
  for (const Grid::CellBox& cell : grid.cells()) {
    const BoxOf place{Area(cell.box)};
    ::Box* found = nullptr;
    const bool empty =
        place.get() == nullptr || pixClipBoxToForeground(ink, place.get(), nullptr, &found) != 0;
    if (empty || found == nullptr) continue;
    int x = 0, y = 0, w = 0, h = 0;
    boxGetGeometry(found, &x, &y, &w, &h);
    boxDestroy(&found);
    const auto at = [](int pixel) { return static_cast<float>(pixel); };
    if (std::max(w, h) < kSpeck) continue;
    all.push_back({cell.box, {at(x - kMargin), at(y - kMargin), at(x + w + kMargin), at(y + h + kMargin)}});
  }
  return all;
}

// The widest white gap between two columns of ink, in pixels.
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

// The number of groups that the pieces form along one axis, separated by white space.
int groups_of(std::vector<engines::Box> pieces, float engines::Box::*from, float engines::Box::*to) {
  std::ranges::sort(pieces, {}, from);
  int groups = 0;
  float end = 0;
  for (const engines::Box& piece : pieces) {
    if (groups == 0 || piece.*from > end) ++groups;
    end = std::max(end, piece.*to);
  }
  return groups;
}

// Whether in most cells the letters lie below each other, so that the text is rotated.
bool lies(const std::vector<Content>& contents, Pix* ink) {
  int across = 0, down = 0;
  for (const Content& each : contents) {
    const Picture part = clipped(ink, each.ink);
    const auto pieces = part ? pieces_of(part.get()) : std::vector<engines::Box>();
    const int beside = groups_of(pieces, &engines::Box::x0, &engines::Box::x1);
    const int below = groups_of(pieces, &engines::Box::y0, &engines::Box::y1);
    if (std::max(beside, below) >= kSeveral && beside != below) ++(beside > below ? across : down);
  }
  return down > across;
}

bool has_picture(const std::vector<Content>& contents, Pix* ink, float letters) {
  const float large = kPicture * letters;
  return std::ranges::any_of(contents, [=](const Content& each) {
    if (std::min(each.ink.width(), each.ink.height()) < large) return false;
    const Picture part = clipped(ink, each.ink);
    l_float32 dark = 0;
    if (!part || pixForegroundFraction(part.get(), &dark) != 0 || dark < kPictureInk) return false;
    return std::ranges::any_of(pieces_of(part.get()), [=](const engines::Box& piece) {
      return std::min(piece.width(), piece.height()) >= large;
    });
  });
}

// Arranges the cell contents of a row: side by side when the row is level, one line of text each; otherwise
// below each other, because lines at different heights would be mixed up when read.
class Spreading {
 public:
  Spreading(const std::vector<Content>& contents, Pix* ink, float letters) : ink_(ink), letters_(letters) {
    for (const Content& each : contents) {
      if (!lines_.empty() && each.cell.y0 != lines_.front().contents.front().cell.y0) place_lines();
      add(each);
    }
    place_lines();
  }

  int width() const { return pixel_at(right_ + kBetween * letters_); }
  int height() const { return pixel_at(bottom_); }
  std::vector<DrawnTable::Piece> pieces() && { return std::move(pieces_); }

 private:
  struct Line {
    float top = 0, end = 0;
    std::vector<Content> contents;
  };

  void add(const Content& content) {
    for (Line& line : lines_) {
      const float top = std::min(line.top, content.ink.y0), end = std::max(line.end, content.ink.y1);
      if (end - top > kLineMost * letters_) continue;
      line.top = top;
      line.end = end;
      return line.contents.push_back(content);
    }
    lines_.push_back({content.ink.y0, content.ink.y1, {content}});
  }

  void place_lines() {
    for (const Line& line : lines_) place(line);
    lines_.clear();
  }

  // Single letters at equal distances would be read as one word.
  bool may_be_near(const std::vector<Content>& contents) const {
    const auto longer = std::ranges::count_if(
        contents, [this](const Content& each) { return each.ink.width() > kTwoLetters * letters_; });
    return 3 * static_cast<std::size_t>(longer) >= contents.size() &&
           std::ranges::all_of(contents, [this](const Content& each) {
             return widest_white(ink_, each.ink) < kSpace * letters_;
           });
  }

  void place(const Line& line) {
    const bool near = may_be_near(line.contents);
    const float down = std::round(bottom_ - line.top);
    float x = kBetween * letters_;
    for (const auto& [cell, ink] : line.contents) {
      const float across = std::round(x - ink.x0);
      const float top = std::max(line.top, cell.y0), end = std::min(line.end, cell.y1);
      pieces_.push_back({{ink.x0 + across, top + down, ink.x1 + across, end + down}, across, down});
      x += ink.width() + (near ? kNear : kFar) * letters_;
    }
    right_ = std::max(right_, pieces_.back().box.x1);
    bottom_ += line.end - line.top + kBetween * letters_;
  }

  Pix* ink_;
  const float letters_;
  float right_ = 0;
  float bottom_ = kBetween * letters_;
  std::vector<Line> lines_;  // of one table row
  std::vector<DrawnTable::Piece> pieces_;
};

// Empty: memory is short, or the cells are empty.
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

bool is_written_over(const Grid& grid, Pix* ink, float letters) {
  const Picture part = clipped(ink, grid.box());
  if (!part) return false;
  std::vector<float> lines = grid.columns_at();
  int pieces = 0, touching = 0;
  for (const engines::Box& piece : pieces_of(part.get())) {
    if (std::max(piece.width(), piece.height()) > 2 * kLineMost * letters) continue;
    const float left = piece.x0 + grid.box().x0 - kTouches, right = piece.x1 + grid.box().x0 + kTouches;
    ++pieces;
    const auto next = std::ranges::lower_bound(lines, left);
    if (next != lines.end() && *next < right) ++touching;
  }
  return pieces >= kText && static_cast<float>(touching) > kWrittenOver * static_cast<float>(pieces);
}

std::optional<DrawnTable> set_apart(const Picture& gray, Pix* ink, Grid grid, float letters) {
  const std::vector<Content> contents = contents_of(grid, ink);
  const bool stays = lies(contents, ink) || has_picture(contents, ink, letters);
  if (contents.empty() || stays) return std::nullopt;
  Spreading spreading(contents, ink, letters);
  const int across = spreading.width(), down = spreading.height();
  std::vector<DrawnTable::Piece> pieces = std::move(spreading).pieces();
  const double area = double{1} * across * down, page = double{1} * width(gray) * height(gray);
  if (std::max(across, down) > kSideOfPicture || area > kPagesMost * page) return std::nullopt;
  Picture apart = spread(gray, pieces, across, down);
  if (!apart) return std::nullopt;
  return DrawnTable{std::move(grid), std::move(apart), std::move(pieces)};
}

std::size_t piece_at(const DrawnTable& table, float x, float y) {
  const auto distance = [=](const DrawnTable::Piece& piece) {
    const float across = std::max({piece.box.x0 - x, x - piece.box.x1, 0.0F});
    const float down = std::max({piece.box.y0 - y, y - piece.box.y1, 0.0F});
    return across + down;
  };
  const auto nearest = std::ranges::min_element(table.pieces, {}, distance);
  return static_cast<std::size_t>(nearest - table.pieces.begin());
}

namespace {

constexpr int kPale = 190;  // darker pixels are ink: thin lines are pale on a page that was scaled down
// Letter heights: a shorter stroke belongs to a letter.
constexpr float kAcrossMin = 4;
constexpr float kDownMin = 2.2F;
constexpr int kThick = 7;  // pixels: an area that contains a square of this size is not a line
// Minimum size of a table, in letter heights.
constexpr float kWidthMin = 7;
constexpr float kHeightMin = 2.5F;
constexpr std::size_t kTablesMost = 32;  // maximum per page
constexpr std::size_t kFramesMost = 256;
constexpr std::size_t kBoxesOfRowMin = 3;  // of a table of one row
constexpr int kFaint = 175;                // gray value of faint letters in a table
constexpr l_uint32 kPaper = 255;
// In letter heights.
constexpr float kThickRule = 0.6F;
constexpr float kPaleEdge = 0.15F;  // on either side of a rule that is not quite straight

// The long thin strokes of one direction. Empty: memory is short.
Picture strokes(Pix* ink, int across, int down, int thick = kThick) {
  Picture lines(pixOpenBrick(nullptr, ink, across, down));
  Picture solid(lines ? pixOpenBrick(nullptr, lines.get(), thick, thick) : nullptr);
  l_int32 none = 1;
  if (!solid || pixZero(solid.get(), &none) != 0) return {};
  if (none != 0) return lines;
  solid.reset(pixDilateBrick(nullptr, solid.get(), thick, thick));
  return Picture(solid ? pixSubtract(nullptr, lines.get(), solid.get()) : nullptr);
}

// Connected lines and their position on the page.
struct Frame {
  Picture lines;
  int x = 0, y = 0;
};

// The lines connected to the topmost one, without other lines within their box.
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

// The frames that are large enough for a table.
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

// The lines of both directions that form tables.
std::vector<Drawn> drawn_on(Pix* across, Pix* down, float letters) {
  std::vector<Drawn> found;
  const Picture both(pixOr(nullptr, down, across));
  const Picture lines(both ? pixDilateBrick(nullptr, both.get(), 3, 3)
                           : nullptr);  // includes their pale edges
  if (!lines) return found;
  for (Frame& frame : frames_of(lines.get(), letters)) {
    auto grid = Grid::of(rules_of(frame, across), rules_of(frame, down), letters, 1);
    if (grid && grid->rows() == 1 && grid->columns() < kBoxesOfRowMin) continue;
    if (grid && !grid->has_body(letters) && found.size() < kTablesMost)
      found.push_back({std::move(frame), *std::move(grid)});
  }
  return found;
}

// The long strokes across outside the grids. Small breaks are closed.
std::vector<engines::Box> rules_beside(const std::vector<Drawn>& grids, Pix* across, float letters) {
  const Picture closed(pixCloseSafeBrick(nullptr, across, static_cast<int>(letters), 3));
  std::vector<engines::Box> rules = closed ? pieces_of(closed.get()) : std::vector<engines::Box>();
  std::erase_if(rules, [&](const engines::Box& rule) {
    const auto holds_it = [&](const Drawn& drawn) {
      const engines::Box box = drawn.grid.box();
      return rule.middle_x() > box.x0 && rule.middle_x() < box.x1 && rule.middle_y() > box.y0 - letters &&
             rule.middle_y() < box.y1 + letters;
    };
    return rule.width() < kWidthMin * letters || rule.height() > letters ||
           std::ranges::any_of(grids, holds_it);
  });
  return rules;
}

void wipe_lines(const Picture& gray, const Frame& frame) {
  pixPaintThroughMask(gray.get(), frame.lines.get(), frame.x, frame.y, kPaper);
}

void wipe(const Picture& gray, const engines::Box& box) {
  const int x = pixel_at(box.x0), y = pixel_at(box.y0);
  pixRasterop(gray.get(), x, y, pixel_at(box.x1) - x, pixel_at(box.y1) - y, PIX_SET, nullptr, 0, 0);
}

}  // namespace

void erase_rules(const Picture& gray, float letters) {
  const Picture ink(pixThresholdToBinary(gray.get(), kPale));
  if (!ink) return;
  const int thick = std::max(kThick, static_cast<int>(kThickRule * letters));
  const int edge = 1 + 2 * static_cast<int>(std::ceil(kPaleEdge * letters));
  for (const bool across : {true, false}) {
    const auto length = static_cast<int>((across ? kAcrossMin : kDownMin) * letters);
    Picture lines = strokes(ink.get(), across ? length : 1, across ? 1 : length, thick);
    if (lines) lines.reset(pixDilateBrick(nullptr, lines.get(), across ? 3 : edge, across ? edge : 3));
    if (lines) pixPaintThroughMask(gray.get(), lines.get(), 0, 0, kPaper);
  }
}

TakenTables take_tables(const Picture& gray, float letters) {
  TakenTables taken;
  const Picture ink(pixThresholdToBinary(gray.get(), kPale));
  if (!ink) return taken;
  const Picture down = strokes(ink.get(), 1, static_cast<int>(kDownMin * letters));
  const Picture across = strokes(ink.get(), static_cast<int>(kAcrossMin * letters), 1);
  if (!down || !across) return taken;
  std::vector<Drawn> found = drawn_on(across.get(), down.get(), letters);
  taken.rules = rules_beside(found, across.get(), letters);
  const Picture bare(found.empty() ? nullptr : pixCopy(nullptr, gray.get()));
  if (!bare) return taken;
  for (const Drawn& each : found) wipe_lines(bare, each.frame);
  const Picture rest(pixThresholdToBinary(bare.get(), kFaint));
  if (!rest) return taken;
  for (Drawn& each : found) {
    const bool paper = is_written_over(each.grid, rest.get(), letters);
    auto table = paper ? std::nullopt : set_apart(bare, rest.get(), each.grid, letters);
    if (paper || table) wipe_lines(gray, each.frame);
    if (!table) continue;
    wipe(gray, each.grid.box());
    taken.tables.push_back(*std::move(table));
  }
  return taken;
}

}  // namespace millrace::engines::host
