#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "platform/base/result.h"
#include "storage/data_dir.h"

namespace millrace::storage {

// The findings about a data directory.
struct StoreInspection {
  int schema = 0, newest_schema = 0;  // schema of the database, and the newest one that this program knows
  bool is_open = false;               // a process has the store open
  std::string stuck_lock;  // the process that held the write lock during the whole check; empty: none
  std::int64_t database_bytes = 0, disk_free_bytes = 0;
  std::int64_t log_bytes = 0;   // of a store that no process has open: bytes that the next start will recover
  std::string missing_commits;  // of a store that no process has open: what the next start will report
  std::int64_t noted_missing = 0;  // commits that earlier starts found missing (DATA/missing-commits)
  std::map<std::string, std::string> secret_checks{};  // see storage/admin/secret_checks.h
  bool has_keys = false;
  std::int64_t rows = 0;  // requests, results and parts whose hash was checked
  std::vector<std::string>
      damage{};  // "result of chat-…", "file blobs/ab/…": what differs from what was stored
};
// At most this many entries in `damage`.
inline constexpr std::size_t kDamageMax = 20;

// Checks the store in `data_dir` without changing anything. Reads the whole database, in short reads if a
// gateway has it open. kInternal: it cannot be opened, is malformed, or is not the store whose files are
// beside it; the message says what to do. Blocks.
base::Result<StoreInspection> inspect_store(const std::string& data_dir,
                                            BlobPlace blobs = BlobPlace::kDataDir);

}  // namespace millrace::storage
