#pragma once
#include <string>
#include <vector>

#include "ai/engines/ocr/pages.h"

namespace millrace::engines {

// A box or a circle to tick, as a form draws it.
struct CheckBox {
  Box box;
  bool ticked = false;
};

// Adds the boxes that stand beside a word as words "☐" and "☑"; others are left out. A sign inside of a box,
// such as "x", ticks it and is no word any more; around other text it is a frame. Both arguments use the same
// units.
void add_check_boxes(std::vector<CheckBox> boxes, std::vector<Word>& words);

// Replaces ☐ by "[ ]", ☑ and ☒ by "[x]", which is how markdown writes a box to tick. One that would begin a
// link or a definition stays.
std::string with_plain_check_boxes(std::string markdown);

}  // namespace millrace::engines
