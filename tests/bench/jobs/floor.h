#pragma once
#include <cstddef>
#include <string>

#include "tests/bench/jobs/measures.h"

namespace millrace::bench {

// Bytes that the commit of one job writes to the log: 5 to 12 pages of 8 KB, 8 at the median (counted with
// strace).
inline constexpr std::size_t kFloorBytes = 64 * 1024;

// Measures the disk alone: at that pace, one write over already allocated blocks of a file, and its
// fdatasync. Creates the file in `folder` and removes it. Error: the file cannot be written.
base::Result<Histogram> measure_floor(const std::string& folder, Pace pace);

}  // namespace millrace::bench
