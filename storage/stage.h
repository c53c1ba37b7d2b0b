#pragma once
#include <string_view>

#include "platform/base/result.h"
#include "storage/blobs.h"

namespace millrace::storage {

// Stages a blob with these bytes: `stage` for new work, `stage_reserved` for accepted work. Blocks on the
// disk.
base::Result<Staged> stage(Blobs& blobs, std::string_view bytes);
base::Result<Staged> stage_owed(Blobs& blobs, std::string_view bytes);

}  // namespace millrace::storage
