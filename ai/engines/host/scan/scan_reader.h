#pragma once
#include <optional>
#include <vector>

#include "ai/engines/host/pictures/pixels.h"
#include "ai/engines/host/scan/recogniser.h"
#include "ai/engines/limits.h"

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

// What a picture says, and how it was turned to say it.
struct Reading {
  Recognised recognised;
  int quarter_turns = 0;  // clockwise
};

// Reads pictures however they lie and however long they are.
class ScanReader {
 public:
  ScanReader(const EngineLimits& limits, Recogniser& recogniser) : limits_(limits), recogniser_(recogniser) {}

  // Errors: Recogniser::recognise's.
  base::Result<Reading> read(const Picture& gray);
  // The same, of a picture that has been prepared already and is not long.
  base::Result<Reading> read(const Picture& gray, Prepared prepared);

 private:
  base::Result<Reading> upright(const Picture& gray, Prepared prepared, const PageTime& time, bool may_turn);
  base::Result<Reading> in_bands(const Picture& gray, std::optional<int> quarter_turns, const PageTime& time);

  const EngineLimits& limits_;
  Recogniser& recogniser_;
};

}  // namespace millrace::engines::host
