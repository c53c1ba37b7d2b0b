#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "platform/base/result.h"
#include "storage/blobs/blobs.h"

namespace millrace::storage {

struct TableCopy {
  std::string name;
  std::int64_t rows = 0;
};

// What happens during a copy.
struct StoreCopySteps {
  std::function<void(const TableCopy&)> copied;  // called after each table
  // Copies the content of all blobs of the source, before its rows. An error ends the copy, which leaves the
  // source as it is. Empty: the content stays where it is.
  std::function<base::Status(const std::vector<BlobRef>&)> copy_blobs = {};
};

// Both functions copy all rows between the SQLite database of a data directory and a PostgreSQL database,
// read the copy back and compare its rows and their hashes with the source. Secrets stay in the data
// directory, which both stores use. If they fail, they leave no rows behind. They refuse while a process has
// the source open, and a target that has other rows already. A copy that was interrupted is repeated; if all
// rows are there, they are compared, and what is left is done. They block.

// Afterwards millrace.db is renamed to millrace.db.moved, so that no gateway continues with it by mistake.
base::Result<std::vector<TableCopy>> copy_to_postgres(const std::string& data_dir, const std::string& url,
                                                      const StoreCopySteps& steps);

// `data_dir` must have no millrace.db. Afterwards no gateway starts with the database at `url`, whose rows
// stay.
base::Result<std::vector<TableCopy>> copy_from_postgres(const std::string& url, const std::string& data_dir,
                                                        const StoreCopySteps& steps);

}  // namespace millrace::storage
