#pragma once
#include <cstdint>

#include <unistd.h>

namespace millrace::support {

// A machine number that no other running test process uses. It also determines a uid. Processes are counted
// by uid, and tests run in parallel.
inline std::int64_t machine_number() { return 1'000 + ::getpid() % 50'000; }

}  // namespace millrace::support
