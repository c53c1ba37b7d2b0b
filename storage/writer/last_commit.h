#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "platform/base/clock.h"
#include "platform/base/fd.h"
#include "platform/base/result.h"
#include "storage/data_dir.h"
#include "storage/sqlite/database.h"

namespace millrace::storage {

// A commit and its place in the write-ahead log.
struct CommitPosition {
  std::uint64_t generation = 0;  // of the log (LogContent)
  std::uint64_t commits = 0;     // of all processes, since the file was created
  std::int64_t at_ms = 0;        // wall time
  std::uint64_t frames = 0;      // in the log, at the end of the commit
};

// The file DATA/locks/last-commit: the position of the last commit, by which a start notices that the log was
// changed or cut off while no process had the store open. SQLite takes such a log for a shorter one, without
// an error. The commits up to that position were durable before the file was written. So after a kill, a
// power cut or a failed write, the position is too early, never too late. The file is written through the
// page cache with each commit, and synced with each checkpoint.
class LastCommit {
 public:
  // A file that cannot be opened is logged; nothing is recorded then.
  explicit LastCommit(const std::string& locks);

  // Records that the connection has committed. REQUIRES: the write lock is held. Does not sync.
  void record(const SqliteDb& db, base::WallTime now);

  // The commit that the file names.
  std::optional<CommitPosition> last() const;
  // Records that a checkpoint has copied the first `frames` frames of the log. If that is all of it, the
  // database contains every commit that ends there. If not, it contains none of them for sure: SQLite does
  // not copy a page that has a newer frame behind the part. `before`: last() before the checkpoint. Nothing
  // is recorded if the log has been restarted since, because another one was copied. Syncs the file.
  // REQUIRES: the database was synced after the copy.
  void record_copied(const CommitPosition& before, std::uint64_t frames, bool is_whole_log,
                     const std::string& database);
  // Makes `last` the last commit, which is not in the log any more (generation 0) or ends it. Forgets what
  // checkpoints have copied: the database may have pages of the missing commits. Syncs the file. REQUIRES: no
  // process has the store open.
  void reset(const CommitPosition& last);

 private:
  const base::Fd file_;
  std::uint64_t recorded_ = 0;  // commits of the connection; commit thread only
};

// What a start finds missing.
struct MissingCommits {
  std::int64_t commits = 0;  // 0: none, but the log must not be used
  base::WallTime since{};    // all earlier commits are there; 0 ms: unknown
  std::string reason;        // names the file
  CommitPosition found;      // what the log contains; generation 0: nothing that may be used
  // The log must not be used: the database has newer pages, and SQLite would mix both.
  bool drops_log = false;
};

// Compares the log with DATA/locks/last-commit. nullopt: nothing is missing, or nothing is known. Error: a
// file cannot be read, or the log belongs to another database than this one, such as the one before a
// restored backup. Changes nothing. REQUIRES: no process has the store open. Blocks.
base::Result<std::optional<MissingCommits>> find_missing_commits(const DataDir& dir);

// "148 commits after 2026-… missing: …", for messages.
std::string describe(const MissingCommits& missing);

// The same at a start, before SQLite opens the files. If commits are missing: refuses unless `may_continue`,
// and refuses a database that is malformed, because a checkpoint may have been interrupted; both change
// nothing. Otherwise logs what is missing, keeps the log as millrace.db-wal.damaged-TIME, adds a line to the
// file DATA/missing-commits, and removes a log that must not be used, in this order. The error contains what
// to do. Throws DbError.
base::Status report_and_set_aside(const DataDir& dir, LastCommit& last, base::WallTime now,
                                  bool may_continue);

// The sum of the commits in DATA/missing-commits, which the operator removes; 0 if there is no such file.
std::int64_t missing_commits_noted(const DataDir& dir);

}  // namespace millrace::storage
