#pragma once
#include <memory>

#include "platform/base/clock.h"
#include "storage/store.h"

namespace millrace::storage::testing {

// Opens a store with a schema of its own, by the name of options.data_dir, on the server that ctest has
// started. REQUIRES: the file postgres-url in the folder of the build (scripts/postgres start).
base::Result<std::unique_ptr<Store>> open_postgres(Store::Options options, const base::Clock& clock);

}  // namespace millrace::storage::testing
