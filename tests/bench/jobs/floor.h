#pragma once
#include <cstddef>
#include <string>

#include "tests/bench/jobs/measures.h"

namespace millrace::bench {

// What the commit of one job writes to the log: 5 to 12 pages of 8 KB, 8 at the median (counted by strace).
inline constexpr std::size_t kFloorBytes = 64 * 1024;

// What the disk alone takes for it: at that pace, one write over a file that has its blocks, and its
// fdatasync. The file is made in `folder` and taken away. An error: it cannot be written.
base::Result<Histogram> measure_floor(const std::string& folder, Pace pace);

}  // namespace millrace::bench
