#pragma once
#include <string>
#include <vector>

#include "ai/engines/ocr/pages.h"

namespace millrace::engines {

// A box or a circle to tick, as a form draws it.
struct CheckBox {
  Box box;
  bool ticked = false;
  bool button = false;  // a field of a form, not a drawing
};

// Adds boxes as words "☐" and "☑": buttons, boxes beside a word, and boxes that are the cells of a table,
// which share a line or a column with each other. Other drawn boxes are left out, and so are the marks of a
// chart, which are scattered, with those of its legend. A sign inside of a box,
// such as "x", ticks it and is no word any more; around other text it is a frame. `boxes`: in the units of
// the page.
void add_check_boxes(std::vector<CheckBox> boxes, PageText& page);

// Replaces ☐ by "[ ]", ☑ and ☒ by "[x]", which is how markdown writes a box to tick. One that would begin a
// link or a definition stays.
std::string with_plain_check_boxes(std::string markdown);

}  // namespace millrace::engines
