#pragma once
#include <cstdint>

#include <unistd.h>

namespace millrace::support {

// The number of a machine, and by it a uid, that no other test process has now: processes are counted by uid,
// and tests run side by side.
inline std::int64_t machine_number() { return 1'000 + ::getpid() % 50'000; }

}  // namespace millrace::support
