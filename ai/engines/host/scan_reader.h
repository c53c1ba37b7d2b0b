#pragma once
#include <optional>

#include "ai/engines/host/recogniser.h"
#include "ai/engines/limits.h"

namespace millrace::engines::host {

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
