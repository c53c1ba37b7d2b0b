#pragma once
#include <cstdint>

#include "platform/base/fd.h"
#include "platform/base/result.h"

namespace millrace::engines::host {

// The first `size_bytes` of `fd` in a file in memory, which programs can open by its descriptor wherever the
// bytes came from. kInternal: `fd` has not so many, or memory is short.
base::Result<base::Fd> memory_copy(const base::Fd& fd, std::uint64_t size_bytes);

}  // namespace millrace::engines::host
