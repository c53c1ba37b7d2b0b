#pragma once
#include <string>

#include "platform/base/result.h"

namespace millrace::storage {

// Syncs a file and drops its cached pages, so that the next read comes from the disk. After a failed sync,
// the cache may hold pages that were never written (ADR 39). Does nothing if the file does not exist.
// REQUIRES: no process has the file open through SQLite, including this one, because closing the file here
// would release SQLite's locks. kInternal: the file cannot be opened or synced; the message says what to do.
// Blocks.
base::Status drop_cached_pages(const std::string& file);

}  // namespace millrace::storage
