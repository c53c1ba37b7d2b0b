#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "platform/base/result.h"

namespace millrace::storage {

// A data directory as it was found.
struct StoreInspection {
  int schema = 0, newest_schema = 0;  // of the database, and that of this program
  bool is_open = false;               // a process has the store open
  std::string stuck_lock;             // who has held the write lock all the time; empty: nobody
  std::int64_t database_bytes = 0, disk_free_bytes = 0;
  std::int64_t log_bytes = 0;         // of a store that nobody has open: the next start takes them over
  std::int64_t rows = 0;              // requests, results and parts whose hash was looked at
  std::vector<std::string> damage{};  // "result of chat-…", "file blobs/ab/…": what is not as it was stored
};
// So many of `damage` are named.
inline constexpr std::size_t kDamageMax = 20;

// Looks at the store in `data_dir` without changing anything. Reads all of the database, in short reads where
// a gateway has it open. kInternal: it cannot be opened, is malformed, or is not the store whose files lie
// beside it; the message says what to do. Blocks.
base::Result<StoreInspection> inspect_store(const std::string& data_dir);

}  // namespace millrace::storage
