#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "platform/base/result.h"

namespace millrace::storage {

struct TableCopy {
  std::string name;
  std::int64_t rows = 0;
};
using TableCopied = std::function<void(const TableCopy&)>;  // called after each table

// Both functions copy all rows between the SQLite database of a data directory and a PostgreSQL database,
// read the copy back and compare its rows and their hashes with the source. Blobs and secrets stay in the
// data directory, which both stores use. Nothing is left behind if they fail. They refuse while a process has
// the source open, and a target that has rows already. They block.

// Afterwards millrace.db is renamed to millrace.db.moved, so that no gateway continues with it by mistake.
base::Result<std::vector<TableCopy>> copy_to_postgres(const std::string& data_dir, const std::string& url,
                                                      const TableCopied& copied);

// `data_dir` must have no millrace.db. Afterwards the database at `url` is unchanged.
base::Result<std::vector<TableCopy>> copy_from_postgres(const std::string& url, const std::string& data_dir,
                                                        const TableCopied& copied);

}  // namespace millrace::storage
