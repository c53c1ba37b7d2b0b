#pragma once
#include <string_view>

#include "platform/base/result.h"
#include "storage/blobs.h"

namespace millrace::storage {

// A blob of these bytes: of work that is handed in, or of work that was accepted. Blocks on the disk.
base::Result<Staged> stage(Blobs& blobs, std::string_view bytes);
base::Result<Staged> stage_owed(Blobs& blobs, std::string_view bytes);

}  // namespace millrace::storage
