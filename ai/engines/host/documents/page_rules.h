#pragma once
#include <chrono>
#include <map>
#include <string_view>
#include <vector>

#include "ai/engines/layout/check_boxes.h"
#include "ai/engines/layout/grids.h"

namespace millrace::engines::host {

// What a page draws besides text, in points from the top left corner of the page as it is seen: cropped and
// turned.
struct PageDrawing {
  Rules rules;
  std::vector<CheckBox> check_boxes;  // the buttons of its form, and hollow squares and circles
  std::vector<Box> dots;              // small discs and squares: bullets, if text follows them
};

// Turns a drawing with its page, which was `height` high, by a quarter clockwise.
void turn_drawing(PageDrawing& drawing, float height);

// What the pages draw. Pages that draw nothing are left out, and so are drawings, content that expands too
// far, and files that need to be repaired. Works in a copy of this process, because qpdf recurses as deep as
// the document says: pages that are not read within `cpu` are left out, too.
std::map<int, PageDrawing> drawings_of(std::string_view pdf, const std::vector<int>& pages,
                                       std::chrono::milliseconds cpu);

// Whether the document has a form with fields. Works as drawings_of.
bool has_form(std::string_view pdf, std::chrono::milliseconds cpu);

}  // namespace millrace::engines::host
