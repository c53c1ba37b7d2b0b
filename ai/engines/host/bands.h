#pragma once
#include <vector>

#include "ai/engines/host/pixels.h"

namespace millrace::engines::host {

// A part of a long picture, along its long side: from `first` up to, but without, `end`.
struct Band {
  int first = 0;
  int end = 0;
};

// Whether a picture is so long that its letters would be lost if all of it were halved to kSideMax.
bool is_long(const Picture& picture);

// Cuts `ink.size()` rows into bands of at most `rows_max`, each at the middle of the widest gap without ink
// in the last half of the band, or else at the row with the least. `ink`: the dark pixels of each row.
std::vector<Band> bands_of(const std::vector<int>& ink, int rows_max);

// The bands of a long picture, from top to bottom, or from left to right where it is wider than high.
std::vector<Band> bands_of(const Picture& gray);
// One of them; empty: no memory.
Picture cut_out(const Picture& gray, Band band);

}  // namespace millrace::engines::host
