#pragma once
#include <cstdint>

namespace millrace::base {

// The memory of this host in bytes, or, if that is less, the limit of the control group in which this process
// runs (version 1 or 2), as in a container. Limits of the groups above it do not count. Does not fail.
std::int64_t memory_size();

}  // namespace millrace::base
