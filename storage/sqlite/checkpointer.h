#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "platform/base/result.h"
#include "storage/db/db.h"
#include "storage/writer/fair_write_lock.h"
#include "storage/writer/last_commit.h"
#include "storage/writer/lock_file.h"

namespace millrace::storage {

// Copies the write-ahead log back into the database, off the commit path (docs/design/delivery.md §4). One
// process does this at a time: the one that gets DATA/locks/checkpoint.lock without waiting. The others try
// again one interval later. A PASSIVE checkpoint runs on the checkpointer's own thread, one interval after
// the first commit, or at once if the log is longer than `wal_max_bytes`. In that case the log is also
// restarted: rounds of PASSIVE checkpoints copy new pages until almost none are left. Then a RESTART copies
// the rest while holding the write lock, but only if no reader blocks it for 5 ms; otherwise it is retried
// one interval later. The next commit overwrites the log from its start. The file keeps its length, because
// growing a log costs each commit extra file system writes. Only a file that readers let grow to four times
// the limit is truncated (TRUNCATE). Each copy is synced before SQLite counts it as done, and recorded
// (LastCommit); a failed sync ends the process (vfs.h). Sleeps until `committed` is called, so an idle store
// costs nothing.
class Checkpointer {
 public:
  struct Options {
    std::string database;
    std::string locks;  // folder
    std::int64_t wal_max_bytes = 0;
    std::chrono::milliseconds interval{};  // Store::Options::checkpoint_interval
  };
  struct Counts {
    std::uint64_t checkpoints = 0, restarts = 0, failures = 0;
  };

  // Opens its connection and reads once, because a checkpoint on a connection that never read does nothing
  // and returns OK. Throws DbError.
  static base::Result<std::unique_ptr<Checkpointer>> open(Options options, LastCommit& last_commit);
  ~Checkpointer() { stop(); }

  // Reports the number of pages that the log has now. Cheap; any thread.
  void committed(int log_frames);
  Counts counts() const;
  // Ends the thread, after a last checkpoint if there is something to copy. Idempotent.
  void stop();

 private:
  struct Log {
    int frames = 0;     // pages in the log
    int copied = 0;     // of these, already in the database
    bool busy = false;  // another connection blocked it
  };
  Checkpointer(Options options, LastCommit& last_commit, LockFile leader_lock,
               std::unique_ptr<FairWriteLock> write_lock);
  void run(std::stop_token stop);
  bool run_round();
  bool checkpoint();
  bool restart_log(int copied);
  bool catch_up(int copied);
  Log copy();
  Log run_checkpoint(int mode);

  Options options_;
  LastCommit& last_commit_;
  LockFile leader_lock_;
  std::unique_ptr<FairWriteLock> write_lock_;
  SqliteDb db_;
  std::atomic<bool> dirty_{false};
  std::atomic<bool> log_too_long_{false};  // the log is longer than its limit
  bool could_not_restart_ =
      false;  // the last round could not restart the log, or another process holds the lock
  std::atomic<std::uint64_t> checkpoints_{0}, restarts_{0}, failures_{0};
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::jthread thread_;
};

}  // namespace millrace::storage
