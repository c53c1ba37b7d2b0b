#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "platform/base/result.h"

namespace millrace::storage {

// The content of a write-ahead log, as far as SQLite would recover it. A frame is a page with its header.
struct LogContent {
  bool is_empty = true;                // the file is missing or has no bytes
  bool has_header = false;             // false, although it is not empty: SQLite ignores the whole log
  std::uint64_t generation = 0;        // the salts of the header; each restart of the log changes them
  std::vector<std::uint32_t> commits;  // the number of frames at the end of each commit, ascending
  std::uint32_t frames() const { return commits.empty() ? 0 : commits.back(); }
};

// Reads the log and checks its checksums (SQLite's file format, section 4). It ends at the first frame that
// does not match. REQUIRES: no process has the store open. A file that exists but cannot be read is an error
// that names it. Blocks.
base::Result<LogContent> read_log(const std::string& path);

// Whether `database` is the one that a checkpoint has copied the first `copied` frames of the log to, all
// that the log had then. Each of their pages is in the database as one of its frames, that one or a later
// one. Returns a page that is not: the database was replaced or damaged since. nullopt: there is none. The
// log must be whole: all commits of all checkpoints are in it. REQUIRES and errors: as read_log. Blocks.
base::Result<std::optional<std::uint32_t>> page_of_other_database(const std::string& log,
                                                                  const std::string& database,
                                                                  std::uint32_t copied);

// True if a log that was restarted at least once after `older` may have the generation `newer`: a restart
// adds one to the first salt and draws the second one.
bool is_later_generation(std::uint64_t newer, std::uint64_t older);

}  // namespace millrace::storage
