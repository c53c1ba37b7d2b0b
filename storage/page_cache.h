#pragma once
#include <string>

#include "platform/base/result.h"

namespace millrace::storage {

// Syncs a file and drops its cached pages, so that the next read takes what is on the disk: after a sync that
// failed, cached pages may be those that never got there (ADR 39). Nothing to do where there is no file.
// REQUIRES: no process has the file open through SQLite, this one included; to close it here would end
// SQLite's locks. kInternal: it cannot be opened or synced; the message says what to do. Blocks.
base::Status drop_cached_pages(const std::string& file);

}  // namespace millrace::storage
