#pragma once
#include <cstdint>
#include <string>

#include "platform/base/result.h"
#include "storage/data_dir.h"

namespace millrace::storage {

struct DataDirCopy {
  std::int64_t database_bytes = 0;
  std::int64_t files = 0, file_bytes = 0;  // blobs and secrets
  std::int64_t gone = 0;  // blobs that were removed before they could be copied, together with their jobs
};

// Copies a data directory that may be in use to `target`: a snapshot of the database, every file that it
// references, the secrets and the SSH authorities. It does not copy the disks of machines, files that belong
// to a process or a host (locks, workers, ssh, engines), or backups. It starts only if there is enough space;
// on the disk of the data directory itself, `keep_free_bytes` must stay free (store.disk_free_min). `target`
// (0711, like a data directory) must not exist or must be empty; inside the data directory it may only be in
// backups/. It appears only when it is complete and synced. A crash leaves `target`.new-XXXXXX beside it,
// which the next copy into the same parent folder removes.
// REQUIRES: a Store of `data_dir` is open, so that no process changes the schema. Blocks.
base::Result<DataDirCopy> copy_data_dir(const std::string& data_dir, const std::string& target,
                                        std::int64_t keep_free_bytes, BlobPlace blobs = BlobPlace::kDataDir);

}  // namespace millrace::storage
