#pragma once
#include <optional>

#include "ai/engines/host/pictures/pixels.h"

namespace millrace::engines::host {

// A part of a page at a scale of its own, as straight and white as the page.
struct PagePart {
  Picture gray;
  double scale = 1;    // relative to the given picture turned upright
  float x = 0, y = 0;  // its corner on the given picture turned upright
  float letters = 0;   // the median height of its components, in its pixels
};
// `box`: in pixels of the given picture turned upright; the scale makes its letters about `letters` pixels
// high. An empty picture: nothing in the box may be letters, or memory is short.
PagePart part_of(const Prepared& page, const Box& box, float letters);

// The cells of a drawn table in larger letters, if the page has them; otherwise the table as it is. `origin`
// and `scale` lead from its places to the given picture turned upright.
struct TablePart {
  DrawnTable table;
  double scale = 1;
  float x = 0, y = 0;
};
std::optional<TablePart> larger(const DrawnTable& table, const Prepared& page, float letters);

// Where text was pale, in pixels of the given picture turned upright, made straight.
std::vector<Box> pale_boxes(const Prepared& page);

// Makes the paper white and the ink black. `gray`: 8 bits; `paper`: the brightness of its paper.
void whiten(const Picture& gray, int paper);
// The same size; its corners are lost. Empty: memory is short.
Picture rotated(const Picture& gray, float degrees);

}  // namespace millrace::engines::host
