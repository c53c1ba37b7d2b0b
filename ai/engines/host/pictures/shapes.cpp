#include "ai/engines/host/pictures/shapes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>

#include <leptonica/allheaders.h>

#include "ai/engines/host/pictures/dashed_rules.h"
#include "ai/engines/host/pictures/leader_dots.h"

namespace millrace::engines::host {
namespace {

constexpr int kShapeInk = 190;  // thin lines are pale on a page that was scaled down
constexpr int kBulletInk = 100;
// In letter heights.
constexpr float kShapeMin = 0.8F, kShapeMax = 3;
constexpr float kSignShapeMax = 5;  // of a shape around a letter or a number
constexpr float kTurnedApart = 0.35F;
constexpr float kApart = 0.4F;  // from a box to the next letter
constexpr float kFrameMin = 1.2F, kFrameMax = 5;
constexpr float kFrameWall = 0.25F;
constexpr float kSquare = 1.3F;   // the longer side, of the shorter one
constexpr float kWall = 0.2F;     // of the side of a shape: its line lies within
constexpr float kCovered = 0.9F;  // of a side
constexpr float kRound = 1.12F;
constexpr float kLargerThanLetters = 1.25F;  // a circle; otherwise it may be an O
constexpr int kRays = 36;
constexpr float kTicked = 0.04F;                           // of the inside is ink
constexpr float kFilledSquare = 1.2F, kFilledDisc = 1.6F;  // letter heights of a filled box with a white tick
constexpr float kFilledMin = 0.5F;                         // of a filled box with a white tick
constexpr float kSolid = 0.8F;                             // the same of a bullet
constexpr float kFrameDivided = 0.8F;
constexpr float kSignMin = 0.4F;    // letter heights: what is lower is a speck
constexpr float kDiscCore = 0.25F;  // of the side of a disc or a square that ticks a box: all of it is ink
constexpr float kDiscLong = 1.3F;   // its longer side, of the shorter one

// The ink of a part of a page.
class Ink {
 public:
  explicit Ink(const Picture& part) : data_(pixGetData(part.get())), words_(pixGetWpl(part.get())) {}
  bool at(int x, int y) const { return GET_DATA_BIT(data_ + std::ptrdiff_t{y} * words_, x) != 0; }
  // The share of the columns from x0 to x1 that have ink between the rows y0 and y1.
  float across(int x0, int x1, int y0, int y1) const {
    int count = 0;
    for (int x = x0; x < x1; ++x) {
      int y = y0;
      while (y < y1 && !at(x, y)) ++y;
      count += y < y1 ? 1 : 0;
    }
    return static_cast<float>(count) / static_cast<float>(std::max(x1 - x0, 1));
  }
  float down(int x0, int x1, int y0, int y1) const {
    int count = 0;
    for (int y = y0; y < y1; ++y) {
      int x = x0;
      while (x < x1 && !at(x, y)) ++x;
      count += x < x1 ? 1 : 0;
    }
    return static_cast<float>(count) / static_cast<float>(std::max(y1 - y0, 1));
  }
  float part(int x0, int x1, int y0, int y1) const {
    int count = 0;
    for (int y = y0; y < y1; ++y) {
      for (int x = x0; x < x1; ++x) count += at(x, y) ? 1 : 0;
    }
    return static_cast<float>(count) / static_cast<float>(std::max((x1 - x0) * (y1 - y0), 1));
  }

 private:
  const l_uint32* data_;
  int words_;
};

// The ink of a shape that is connected with its edge: its line, and what touches it.
Picture line_of(const Picture& part) {
  Picture seed(pixCopy(nullptr, part.get()));
  if (!seed) return seed;
  pixRasterop(seed.get(), 1, 1, width(part) - 2, height(part) - 2, PIX_CLR, nullptr, 0, 0);
  return Picture(pixSeedfillBinary(nullptr, seed.get(), part.get(), 8));
}

// Whether a line runs around what is inside, without touching it.
bool is_hollow(const Picture& part, int wall) {
  const Picture line = line_of(part);
  return line &&
         Ink(line).part(wall + 1, width(part) - wall - 1, wall + 1, height(part) - wall - 1) <= kTicked;
}

bool has_four_sides(const Ink& ink, int w, int h, int wall) {
  return ink.across(0, w, 0, wall) >= kCovered && ink.across(0, w, h - wall, h) >= kCovered &&
         ink.down(0, wall, 0, h) >= kCovered && ink.down(w - wall, w, 0, h) >= kCovered;
}

// Whether every ray from the middle meets the line of a circle, and passes white before it.
bool is_circle(const Ink& ink, int w, int h) {
  constexpr float kPi = 3.14159265F;
  const float rx = static_cast<float>(w) / 2, ry = static_cast<float>(h) / 2;
  const auto inked = [&](float angle, float part) {
    const int x = static_cast<int>(rx + std::cos(angle) * part * rx);
    const int y = static_cast<int>(ry + std::sin(angle) * part * ry);
    return x >= 0 && y >= 0 && x < w && y < h && ink.at(x, y);
  };
  for (int ray = 0; ray < kRays; ++ray) {
    const float angle = 2 * kPi * static_cast<float>(ray) / kRays;
    bool line = false, white = false;
    for (float part = 0.98F; part > 0.75F; part -= 0.04F) line = line || inked(angle, part);
    for (float part = 0.75F; part > 0.4F; part -= 0.05F) white = white || !inked(angle, part);
    if (!line || !white) return false;
  }
  return true;
}

// The middle height of the ink between two columns of a picture, of its height.
float middle_of_ink(const Ink& ink, int x0, int x1, int h) {
  int sum = 0, count = 0;
  for (int x = x0; x < x1; ++x) {
    for (int y = 0; y < h; ++y) {
      if (ink.at(x, y)) sum += y, ++count;
    }
  }
  return count == 0 ? 0 : static_cast<float>(sum) / static_cast<float>(count) / static_cast<float>(h);
}

// Two strokes: a short one down, and a longer one up to the right.
bool is_tick(const Picture& mark) {
  const int w = width(mark), h = height(mark), end = std::max(1, w / 5);
  if (w < 4 || h < 3 || 5 * w < 4 * h || w > 2 * h) return false;
  const Ink ink(mark);
  int lowest = 0, count = 0;
  for (int x = 0; x < w; ++x) {
    if (ink.at(x, h - 1)) lowest += x, ++count;
  }
  const float low = count == 0 ? 1 : static_cast<float>(lowest) / static_cast<float>(count * w);
  const float left = middle_of_ink(ink, 0, end, h), right = middle_of_ink(ink, w - end, w, h);
  return low > 0.15F && low < 0.6F && left > 0.35F && left < 0.85F && right < 0.4F;
}

// Whether a filled box or disc has nothing but a white tick inside.
bool is_ticked_in_white(const Picture& part) {
  const auto w = static_cast<float>(width(part)), h = static_cast<float>(height(part));
  const Picture white(pixInvert(nullptr, part.get()));
  std::vector<Box> marks = white ? pieces_of(white.get()) : std::vector<Box>();
  std::erase_if(marks, [=](const Box& mark) {  // the corners beside a disc, and specks
    const bool corner = mark.x0 < 1 || mark.y0 < 1 || mark.x1 > w - 1 || mark.y1 > h - 1;
    return corner || std::max(mark.width(), mark.height()) < w / 8;
  });
  if (marks.size() != 1 || marks[0].width() < 0.3F * w || marks[0].width() > 0.85F * w) return false;
  const Picture mark = clipped(white.get(), marks[0]);
  return mark && Ink(part).part(0, width(part), 0, height(part)) > kFilledMin && is_tick(mark);
}

// Distance of two pieces that share rows; infinite: they do not.
float gap_between(const Box& one, const Box& other) {
  if (std::min(one.y1, other.y1) <= std::max(one.y0, other.y0)) return INFINITY;
  return std::max(other.x0 - one.x1, one.x0 - other.x1);
}

class Shapes {
 public:
  Shapes(const Picture& gray, float letters)
      : gray_(gray), letters_(letters), binary_(pixConvertTo1(gray.get(), kShapeInk)) {
    if (binary_) pieces_ = pieces_of(binary_.get());
    std::ranges::sort(pieces_, {}, &Box::y0);
    for (const Box& piece : pieces_) highest_ = std::max(highest_, piece.height());
  }

  TakenShapes take() {
    TakenShapes taken;
    const std::vector<DashedRule> dashed = take_dashed_rules();
    // Bullets stand so close to each other that pale ink joins them.
    const Picture dark(pixConvertTo1(gray_.get(), kBulletInk));
    if (dark) taken.leaders = find_bullets(pieces_of(dark.get()), dark.get(), letters_);
    const auto is_bullet = [bullets = taken.leaders](const Box& piece) {
      return std::ranges::any_of(bullets, [&](const Leader& each) {
        return piece.middle_x() > each.box.x0 && piece.middle_x() < each.box.x1 &&
               piece.middle_y() > each.box.y0 && piece.middle_y() < each.box.y1;
      });
    };
    for (const Box& piece : pieces_) {
      if (is_bullet(piece)) continue;
      if (const auto box = box_at(piece)) {
        take_box(*box, taken);
      } else if (is_frame(piece)) {
        add_lines(piece, taken.erased);
      }
    }
    if (binary_)
      std::ranges::move(find_leaders(pieces_, binary_.get(), letters_), std::back_inserter(taken.leaders));
    for (const Leader& each : taken.leaders) add_around(each.box, taken.erased);
    for (const Box& each : taken.erased) fill_white(gray_, each);
    for (const DashedRule& rule : dashed) {
      for (const Box& each : rule.line) fill_black(gray_, each);
    }
    return taken;
  }

 private:
  std::vector<DashedRule> take_dashed_rules() {
    std::vector<DashedRule> rules = find_dashed_rules(pieces_, letters_);
    const auto place = [](const Box& box) { return std::array{box.y0, box.x0, box.y1, box.x1}; };
    std::vector<std::array<float, 4>> taken;
    for (const DashedRule& rule : rules)
      std::ranges::transform(rule.dashes, std::back_inserter(taken), place);
    std::ranges::sort(taken);
    std::erase_if(pieces_, [&](const Box& piece) { return std::ranges::binary_search(taken, place(piece)); });
    return rules;
  }

  std::optional<CheckBox> box_at(const Box& piece) const {
    const float low = std::min(piece.width(), piece.height()), high = std::max(piece.width(), piece.height());
    if (low < kShapeMin * letters_ || high > kSignShapeMax * letters_ || high > kSquare * low)
      return std::nullopt;
    const Picture part = clipped(binary_.get(), piece);
    if (!part) return std::nullopt;
    const Ink ink(part);
    const int w = width(part), h = height(part);
    const int wall = std::max(1, static_cast<int>(std::lround(kWall * low)));
    const bool square = has_four_sides(ink, w, h, wall);
    // Small letters and capitals have white parts, too.
    if (low >= (square ? kFilledSquare : kFilledDisc) * letters_ && is_ticked_in_white(part))
      return stands_alone(piece, false) ? std::optional(CheckBox{piece, true}) : std::nullopt;
    const bool circle = !square && high <= kRound * low && is_circle(ink, w, h);
    if (!square && !circle) return std::nullopt;
    const float inside = ink.part(wall + 1, w - wall - 1, wall + 1, h - wall - 1);
    if ((inside > kSolid && !is_hollow(part, wall)) || !stands_alone(piece, circle)) return std::nullopt;
    return CheckBox{piece, inside > kTicked};
  }

  // What may be a letter is erased here, but not where the box is read by itself. In a shape that is too
  // large for a box to tick it stays here, too.
  void take_box(const CheckBox& box, TakenShapes& taken) {
    const Picture part = box.ticked ? clipped(binary_.get(), box.box) : Picture();
    const Picture line = part ? line_of(part) : Picture();
    const bool may_be_text = line && taken.with_signs.size() < kSignsMost && holds_text(part, line, box.box);
    const bool large = std::max(box.box.width(), box.box.height()) > kShapeMax * letters_;
    if (large && !may_be_text) return;
    if (!large) taken.boxes.push_back(box);
    if (!may_be_text) return add_around(box.box, taken.erased);
    taken.with_signs.push_back(box.box);
    add_runs(line, box.box, taken.erased);
    if (large) return;
    std::vector<Box> whole;
    add_around(box.box, whole);
    fill_white(gray_, whole.front());
  }

  // Whether the ink in a shape lies apart from its line, and may be a letter: no speck, disc or square.
  bool holds_text(const Picture& part, const Picture& line, const Box& shape) const {
    const float low = std::min(shape.width(), shape.height());
    const int wall = std::max(1, static_cast<int>(std::lround(kWall * low))) + 1;
    if (Ink(line).part(wall, width(part) - wall, wall, height(part) - wall) > kTicked) return false;
    const Picture inside(pixSubtract(nullptr, part.get(), line.get()));
    const std::vector<Box> signs = inside ? pieces_of(inside.get()) : std::vector<Box>();
    if (signs.empty()) return false;
    const Box sign = std::ranges::max(signs, {}, &Box::height);
    const float shorter = std::min(sign.width(), sign.height());
    const bool round = std::max(sign.width(), sign.height()) < kDiscLong * shorter;
    const int core = static_cast<int>(kDiscCore * shorter);
    const int x = static_cast<int>(sign.middle_x()), y = static_cast<int>(sign.middle_y());
    const bool disc = round && Ink(inside).part(x - core, x + core + 1, y - core, y + core + 1) > kSolid;
    return sign.height() > kSignMin * letters_ && !disc;
  }

  // Whether a letter stands right above or below: a circle is an O of text that runs up or down then.
  bool is_in_turned_line(const Box& shape) const {
    const float reach = kTurnedApart * letters_;
    const auto from = std::ranges::lower_bound(pieces_, shape.y0 - highest_ - reach, {}, &Box::y0);
    for (auto at = from; at != pieces_.end() && at->y0 < shape.y1 + reach; ++at) {
      const bool next = (at->y0 >= shape.y1 - 1 || (at->y1 <= shape.y0 + 1 && at->y1 > shape.y0 - reach));
      const bool in_line = at->middle_x() > shape.x0 - reach && at->middle_x() < shape.x1 + reach;
      const bool letter = at->width() > letters_ / 2 && at->width() < 2 * letters_ &&
                          at->height() > letters_ / 3 && at->height() < 2 * letters_;
      if (next && in_line && letter) return true;
    }
    return false;
  }

  // No letter is close to a box. One beside a circle is lower than it.
  bool stands_alone(const Box& shape, bool circle) const {
    if (circle && is_in_turned_line(shape)) return false;
    const auto from = std::ranges::lower_bound(pieces_, shape.y0 - highest_, {}, &Box::y0);
    for (auto at = from; at != pieces_.end() && at->y0 < shape.y1; ++at) {
      const float gap = gap_between(shape, *at);
      const bool is_inside =
          at->x0 >= shape.x0 && at->x1 <= shape.x1 && at->y0 >= shape.y0 && at->y1 <= shape.y1;
      if (is_inside || at->height() < letters_ / 3 || at->height() > kFrameMax * letters_) continue;
      if (gap < kApart * letters_) return false;
      const bool near = gap < 2 * kShapeMax * letters_;
      const bool like_it = at->height() > 0.9F * shape.height() && at->width() > 0.9F * shape.width();
      const bool same = like_it && std::abs(at->width() - at->height()) < 0.12F * at->height();
      if (circle && near && !same && at->height() * kLargerThanLetters > shape.height()) return false;
    }
    return true;
  }

  bool is_frame(const Box& piece) const {
    if (piece.height() < kFrameMin * letters_ || piece.height() > kFrameMax * letters_) return false;
    if (piece.width() < kSquare * piece.height()) return false;
    const Picture part = clipped(binary_.get(), piece);
    if (!part) return false;
    const Ink ink(part);
    const int w = width(part), h = height(part), wall = wall_of_frame();
    if (2 * wall >= h || !has_four_sides(ink, w, h, wall)) return false;
    // Lines within divide the cells of a table, or boxes for single letters.
    for (int x = wall + 1; x < w - wall - 1; ++x) {
      if (ink.part(x, x + 1, wall, h - wall) > kFrameDivided) return false;
    }
    return true;
  }

  int wall_of_frame() const { return std::max(2, static_cast<int>(std::lround(kFrameWall * letters_))); }

  static void add_around(const Box& box, std::vector<Box>& erased) {
    erased.push_back({box.x0 - 2, box.y0 - 2, box.x1 + 2, box.y1 + 2});
  }
  // The ink of a line, row by row.
  static void add_runs(const Picture& line, const Box& at, std::vector<Box>& erased) {
    const Ink ink(line);
    for (int y = 0; y < height(line); ++y) {
      const float top = at.y0 + static_cast<float>(y);
      for (int x = 0, end = 0; x < width(line); x = end + 1) {
        for (end = x; end < width(line) && ink.at(end, y);) ++end;
        const float left = at.x0 + static_cast<float>(x), right = at.x0 + static_cast<float>(end);
        if (end > x) erased.push_back({left - 1, top - 1, right + 1, top + 2});
      }
    }
  }
  void add_lines(const Box& frame, std::vector<Box>& erased) const {
    const auto wall = static_cast<float>(wall_of_frame());
    erased.push_back({frame.x0 - 2, frame.y0 - 2, frame.x1 + 2, frame.y0 + wall});
    erased.push_back({frame.x0 - 2, frame.y1 - wall, frame.x1 + 2, frame.y1 + 2});
    erased.push_back({frame.x0 - 2, frame.y0 - 2, frame.x0 + wall, frame.y1 + 2});
    erased.push_back({frame.x1 - wall, frame.y0 - 2, frame.x1 + 2, frame.y1 + 2});
  }

  const Picture& gray_;
  const float letters_;
  const Picture binary_;
  std::vector<Box> pieces_;
  float highest_ = 0;
};

}  // namespace

TakenShapes take_shapes(const Picture& gray, float letters) { return Shapes(gray, letters).take(); }

}  // namespace millrace::engines::host
