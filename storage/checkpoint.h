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
#include "storage/lock_file.h"
#include "storage/sqlite.h"
#include "storage/turnstile.h"

namespace millrace::storage {

// Brings the write-ahead log back into the database, off the commit path (delivery.md, SQLite settings). At
// any time one process does: whoever gets DATA/locks/checkpoint.lock without waiting; the others try again an
// interval later. PASSIVE on its own thread, an interval after the first commit, or at once when the log is
// longer than `wal_max_bytes`. Then it is also begun anew: what came in meanwhile is copied in turns until
// next to nothing is left, and a RESTART does that rest while holding the write lock, only if no reader is in
// its way for 5 ms; else it is tried again an interval later. The next commit writes over the log from its
// start. The file keeps its length, for a log that grows costs each commit the file system's own writes; only
// one that readers let grow to four times the limit is cut (TRUNCATE). Each copy is synced before SQLite
// counts it as done; a sync that fails ends the process (copy_writes.h). Sleeps until `committed` is called:
// an idle store costs nothing.
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

  // Opens its connection and reads once: a checkpoint on a connection that never read does nothing and says
  // OK. Throws SqliteError.
  static base::Result<std::unique_ptr<Checkpointer>> open(Options options);
  ~Checkpointer() { stop(); }

  // The log has so many pages now. Cheap; any thread.
  void committed(int log_frames);
  Counts counts() const;
  // Ends the thread. Idempotent.
  void stop();

 private:
  struct Log {
    int frames = 0;     // in the log
    int copied = 0;     // of these, in the database
    bool busy = false;  // somebody was in the way
  };
  Checkpointer(Options options, LockFile election, std::unique_ptr<Turnstile> turnstile);
  void run(std::stop_token stop);
  bool round();
  bool checkpoint();
  bool start_anew(int copied);
  bool catch_up(int copied);
  Log copy();
  Log run_checkpoint(int mode);

  Options options_;
  LockFile election_;
  std::unique_ptr<Turnstile> turnstile_;
  Db db_;
  std::atomic<bool> dirty_{false};
  std::atomic<bool> long_{false};  // past its limit
  bool in_vain_ = false;           // the last round could not begin the log anew, or was another process's
  std::atomic<std::uint64_t> checkpoints_{0}, restarts_{0}, failures_{0};
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::jthread thread_;
};

}  // namespace millrace::storage
