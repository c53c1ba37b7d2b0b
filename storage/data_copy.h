#pragma once
#include <cstdint>
#include <string>

#include "platform/base/result.h"

namespace millrace::storage {

struct DataCopy {
  std::int64_t database_bytes = 0;
  std::int64_t files = 0, file_bytes = 0;  // blobs and secrets
  std::int64_t gone = 0;  // blobs that were removed while they were to be copied: their jobs were, too
};

// Copies a data directory that others use meanwhile into `target`: the database as it is at one moment, every
// file that it names, the secrets and the SSH authorities. Not the disks of machines, nor what belongs to a
// process or a host (locks, workers, ssh, engines) nor backups. It begins only where there is room: on the
// disk of the data directory itself `keep_free_bytes` have to be left (store.disk_free_min). `target` (0711,
// as a data directory) must not be there, or be empty, and of the data directory's own folders lies in
// backups/ alone; it is there when all of it is on disk. What a crash leaves lies beside it as
// `target`.new-XXXXXX. REQUIRES: a Store of `data_dir` is open, so that nobody changes the schema. Blocks.
base::Result<DataCopy> copy_data_dir(const std::string& data_dir, const std::string& target,
                                     std::int64_t keep_free_bytes);

}  // namespace millrace::storage
