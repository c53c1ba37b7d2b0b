#pragma once
#include <vector>

#include "ai/engines/host/pictures/pixels.h"
#include "ai/engines/layout/check_boxes.h"

namespace millrace::engines::host {

struct TakenShapes {
  std::vector<CheckBox> boxes;
  std::vector<Leader> leaders;
  std::vector<Box> erased;  // what is white now
};

// Takes shapes out of a page that a recogniser would read as letters: hollow boxes and circles to tick, with
// or without a mark in them, the frames of fields, whose text stays, and leaders. A letter O and other signs
// among letters stay. Dashed lines become whole ones. All in pixels of `gray`: 8 bits, upright, white paper;
// `letters`: the height of the page's letters in pixels.
TakenShapes take_shapes(const Picture& gray, float letters);

}  // namespace millrace::engines::host
