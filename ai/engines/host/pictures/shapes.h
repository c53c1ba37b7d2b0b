#pragma once
#include <vector>

#include "ai/engines/host/pictures/pixels.h"
#include "ai/engines/layout/check_boxes.h"

namespace millrace::engines::host {

inline constexpr std::size_t kSignsMost = 200;  // of a page: reading one takes 2 ms

struct TakenShapes {
  std::vector<CheckBox> boxes;
  std::vector<Box> with_signs;  // those of the boxes whose ink may be a letter or a number
  std::vector<Leader> leaders;
  std::vector<Box> erased;  // what is white now; of boxes with signs, their lines only
};

// Takes shapes out of a page that a recogniser would read as letters: hollow boxes and circles to tick, with
// or without a mark in them, the frames of fields, whose text stays, and leaders. A letter O and other signs
// among letters stay. Dashed lines become whole ones. All in pixels of `gray`: 8 bits, upright, white paper;
// `letters`: the height of the page's letters in pixels.
TakenShapes take_shapes(const Picture& gray, float letters);

}  // namespace millrace::engines::host
