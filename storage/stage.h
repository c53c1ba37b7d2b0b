#pragma once
#include <string_view>

#include "platform/base/result.h"
#include "storage/blobs.h"

namespace millrace::storage {

// A blob of these bytes. Blocks on the disk.
base::Result<Staged> stage(Blobs& blobs, std::string_view bytes);

}  // namespace millrace::storage
