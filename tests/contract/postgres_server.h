#pragma once
#include <memory>
#include <string>

#include "platform/base/clock.h"
#include "storage/store.h"

namespace millrace::storage::testing {

// The URL of a schema of its own, by the name of `folder`, on the server that ctest has started; creates it.
// Throws DbError. REQUIRES: the file postgres-url in the folder of the build (scripts/postgres start).
std::string schema_url(const std::string& folder);

// Opens a store with a schema of its own, by the name of options.data_dir.
base::Result<std::unique_ptr<Store>> open_postgres(Store::Options options, const base::Clock& clock);

}  // namespace millrace::storage::testing
