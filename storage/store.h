#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "platform/base/clock.h"
#include "platform/base/result.h"
#include "storage/blobs/blobs.h"
#include "storage/data_dir.h"
#include "storage/tenants/quota_ledger.h"
#include "storage/writer/writer.h"

namespace millrace::storage {

class Readers;

// An open data directory. Owns the locks, the migration, the writer, the checkpointer, the readers and the
// blobs. The roles (JobIntake, JobClaims, JobOutcomes, JobMaintenance, JobQueries, ApiKeys) are small classes
// on top of it.
class Store {
 public:
  // Opens the blobs of a store: open_file_blobs, or another implementation that keeps its local files in
  // `folder`.
  using OpenBlobs = std::function<base::Result<std::unique_ptr<Blobs>>(const std::string& folder,
                                                                       std::int64_t disk_free_min_bytes)>;

  struct Options {
    std::string url{};     // of a PostgreSQL database; empty: SQLite in data_dir
    std::string data_dir;  // created (0711) if missing; everything in it is 0700 or 0600
    // Has the pepper, secret.key and the SSH authorities, which are the same on all hosts of a store. Empty:
    // data_dir.
    std::string secrets_dir{};
    // The name of this host among those of the database at `url`; empty: the store has one host.
    std::string host{};
    OpenBlobs open_blobs = &open_file_blobs;
    BlobPlace blob_place = BlobPlace::kDataDir;  // of what open_blobs opens
    bool outbox = false;                         // true when Dispatch is durable (Kafka)
    std::size_t queue_max = 16'384;              // operations that wait for the writer
    std::size_t group_operations_max = 256;
    std::size_t group_payload_bytes_max = 1u << 20;
    std::chrono::milliseconds group_wait_max{2};
    std::int64_t wal_max_bytes =
        64ll << 20;  // above it the log is restarted, for a short time under the write lock
    std::chrono::milliseconds checkpoint_interval{1'000};
    std::chrono::milliseconds schema_wait{30'000};
    // Whether to open a store whose log lacks commits (LastCommit). Commands leave that to the gateway.
    bool continues_without_commits = true;
    std::chrono::milliseconds stuck_lock_after{
        2'000};  // then the store is degraded, and the detail names the holder
    std::int64_t disk_free_min_bytes = 512ll << 20;  // below it, submits get 503
    int readers = 2;
    // JobView::result_expires_at is the end of the job plus `result_age`, or plus `job_age` for kinds whose
    // results are kept as long as the job's row (executions).
    std::chrono::milliseconds result_age{std::chrono::hours(24)};
    std::chrono::milliseconds job_age{std::chrono::hours(24) * 7};
    QuotaDefaults quota_defaults{};
    std::string public_url{};  // base of links in webhooks; empty: relative links
  };

  // Refuses network file systems, a newer schema and a folder that it cannot write. Every message says what
  // to do.
  static base::Result<std::unique_ptr<Store>> open(Options options, const base::Clock& clock);
  virtual ~Store() = default;  // calls close()

  virtual Writer& writer() = 0;
  virtual Readers& readers() = 0;
  virtual Blobs& blobs() = 0;
  virtual const base::Clock& clock() const = 0;
  virtual const Options& options() const = 0;
  const std::string& secrets_dir() const {
    return options().secrets_dir.empty() ? options().data_dir : options().secrets_dir;
  }

  using GroupObserver = std::function<void(std::size_t operations, std::chrono::duration<double> took)>;

  // The hook runs on the completion thread after the completions of each group that changed something. Set it
  // once, before the first write. It takes at most 10 µs, never blocks and never waits for the writer.
  virtual void on_commit(std::function<void(const Commit&)> hook) = 0;
  // `scope` runs on that thread before the completions of each group; the value that it returns is destroyed
  // after them. Set it before the first write.
  virtual void set_completion_scope(std::function<std::shared_ptr<void>()> scope) = 0;
  // A thread whose clients wait for completions may share the completion thread's work (ADR 33).
  // `share_completions` returns a descriptor that becomes readable when a group is offered (-1: not
  // available). The thread then calls `run_shared_completions`, which runs completions and the commit hook
  // there, one group at a time, in order. Stop sharing before the store is closed.
  virtual int share_completions() = 0;
  virtual void run_shared_completions() = 0;
  virtual void stop_sharing_completions() = 0;
  // True if a group will probably be offered to that thread as soon as the log is synced. Cheap.
  virtual bool completions_are_due() const = 0;

  // The observer runs on the commit thread after each committed group, after the write lock was released. It
  // gets the number of operations and the time from acquiring the lock to the end of COMMIT. Set it before
  // the first write. It takes at most 1 µs and never blocks.
  virtual void on_group(GroupObserver watch) = 0;

  struct Health {
    bool store_ok = true;
    std::string store_detail;  // names the process that holds a stuck lock
    bool disk_ok = true;
    std::string disk_detail;  // free bytes and `disk_free_min`, for operators; not shown to tenants
  };
  virtual Health health() const = 0;

  struct Stats {
    std::uint64_t groups_total = 0, operations_total = 0, failed_groups_total = 0;
    double commit_seconds_max = 0;
    std::int64_t wal_bytes = 0, db_bytes = 0, disk_free_bytes = 0;
    std::size_t queue_depth = 0;
    std::uint64_t checkpoints_total = 0, wal_restarts_total = 0;
    std::int64_t commits_missing = 0;  // noted in DATA/missing-commits
  };
  virtual Stats stats() const = 0;

  // Runs the queued operations and their completions, stops the threads and closes. Idempotent.
  virtual void close() = 0;
};

}  // namespace millrace::storage
