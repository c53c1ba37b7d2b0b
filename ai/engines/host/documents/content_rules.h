#pragma once
#include <cstddef>
#include <functional>
#include <string_view>
#include <vector>

#include "ai/engines/layout/check_boxes.h"
#include "ai/engines/layout/grids.h"

namespace millrace::engines::host {

// An affine map: (x, y) becomes (a x + c y + e, b x + d y + f).
struct Matrix {
  float a = 1, b = 0, c = 0, d = 1, e = 0, f = 0;
  // First this map, then `next`.
  Matrix then(const Matrix& next) const;
};

// Reads the drawing operators of content streams of a PDF page and collects the rules that they draw:
// straight strokes across or down, and thin filled areas, that are not white. It also finds hollow squares
// and circles of the size of letters. Clipping, patterns and other curves are ignored. Accepts any bytes.
class ContentReader {
 public:
  // Called for the name of an XObject that is drawn, with the map that applies to it.
  using Draw = std::function<void(std::string_view name, const Matrix& at)>;
  void read(std::string_view content, const Matrix& at, const Draw& draw);
  // The rules of all content, in its units after the map. Pieces of one line are joined. None: there are more
  // than kRulesMost, so the page is a drawing.
  Rules take();
  // The squares and circles of all content, ticked if something dark is painted in them. None: there are more
  // than kShapesMost, or they touch each other: a drawing, or boxes for single letters. Squares of several
  // colours are the legend of a chart.
  std::vector<CheckBox> take_check_boxes();
  // The small discs, circles and squares of all content, without those inside of boxes to tick: bullets of
  // lists, if text follows them. None: there are more than kShapesMost. Call it before take_check_boxes.
  std::vector<Box> dots() const;

  static constexpr std::size_t kRulesMost = 2000;
  static constexpr std::size_t kShapesMost = 500;

 private:
  class Reading;
  struct Fill {
    Box box;
    std::vector<float> colour;
    bool is_light = false;
  };
  static bool has_other_colours(const Box& box, const std::vector<Fill>& fills);

  std::size_t pieces_ = 0;
  Rules rules_;
  // Shapes of the size of a box to tick, and of what may be in it: only what is not light ticks it.
  std::vector<Box> hollow_, painted_, light_;
  std::vector<Fill> fills_;  // of the size of a box to tick
};

}  // namespace millrace::engines::host
