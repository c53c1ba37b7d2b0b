#pragma once
#include <optional>
#include <vector>

#include "ai/engines/host/pictures/pixels.h"
#include "ai/engines/host/scan/recogniser.h"
#include "ai/engines/limits.h"

namespace millrace::engines::host {

// A part of a long picture along its long side: from `first` to `end`, exclusive.
struct Band {
  int first = 0;
  int end = 0;
};

// Whether a picture is so long that its letters would be lost if the whole picture were halved to kSideMax.
bool is_long(const Picture& picture);

// Cuts `ink.size()` rows into bands of at most `rows_max`. Each cut is at the middle of the widest gap
// without ink in the last half of the band, or, without a gap, at the row with the least ink. `ink`: the dark
// pixels of each row.
std::vector<Band> bands_of(const std::vector<int>& ink, int rows_max);

// The bands of a long picture: from top to bottom, or from left to right when it is wider than high.
std::vector<Band> bands_of(const Picture& gray);
// One band of the picture; empty: memory is short.
Picture cut_out(const Picture& gray, Band band);

// The recognised content of a picture and the rotation that was applied to it.
struct Reading {
  Recognised recognised;
  int quarter_turns = 0;  // clockwise
};

// Reads pictures of any orientation and length.
class ScanReader {
 public:
  ScanReader(const EngineLimits& limits, Recogniser& recogniser) : limits_(limits), recogniser_(recogniser) {}

  // Errors: Recogniser::recognise's.
  base::Result<Reading> read(const Picture& gray);
  // The same for a picture that has already been prepared and is not long.
  base::Result<Reading> read(const Picture& gray, Prepared prepared);

 private:
  Prepared turned_rightly(const Picture& gray, Prepared prepared, const PageTime& time);
  base::Result<Reading> upright(const Picture& gray, Prepared prepared, const PageTime& time, bool may_turn);
  base::Result<Reading> in_bands(const Picture& gray, std::optional<int> quarter_turns, const PageTime& time);

  const EngineLimits& limits_;
  Recogniser& recogniser_;
};

}  // namespace millrace::engines::host
