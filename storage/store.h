#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "platform/base/clock.h"
#include "platform/base/result.h"
#include "storage/blobs.h"
#include "storage/writer.h"

namespace millrace::storage {

class Readers;

// A data directory, open. Owns the locks, the migration, the writer, the checkpointer, the readers and the
// blobs; the roles (JobIntake, JobClaims, JobOutcomes, JobUpkeep, JobQueries, AccessRows) are small classes
// over it.
class Store {
 public:
  struct Options {
    std::string data_dir;            // made (0711) if missing; everything in it 0700 / 0600
    bool outbox = false;             // true when Dispatch is durable (Kafka)
    std::size_t queue_max = 16'384;  // operations waiting for the writer
    std::size_t group_operations_max = 256;
    std::size_t group_payload_bytes_max = 1u << 20;
    std::chrono::milliseconds group_wait_max{2};
    std::int64_t wal_max_bytes = 64ll << 20;  // past it: a short RESTART under the write lock
    std::chrono::milliseconds checkpoint_interval{1'000};
    std::chrono::milliseconds schema_wait{30'000};
    std::chrono::milliseconds stuck_lock_after{2'000};  // then degraded, naming the holder
    std::int64_t disk_free_min_bytes = 512ll << 20;     // below it submits get 503
    int readers = 2;
    // What JobView::result_expires_at promises: the first, or the second for kinds whose results stay as long
    // as the job's row (executions).
    std::chrono::milliseconds result_age{std::chrono::hours(24)};
    std::chrono::milliseconds job_age{std::chrono::hours(24) * 7};
  };

  // Refuses network file systems, a newer schema, a folder it cannot write; every message says what to do.
  static base::Result<std::unique_ptr<Store>> open(Options options, const base::Clock& clock);
  virtual ~Store() = default;  // close()

  virtual Writer& writer() = 0;
  virtual Readers& readers() = 0;
  virtual Blobs& blobs() = 0;
  virtual const base::Clock& clock() const = 0;
  virtual const Options& options() const = 0;

  using GroupWatch = std::function<void(std::size_t operations, std::chrono::duration<double> took)>;

  // Runs where the group is announced (below) after each one that changed something, after its completions.
  // Set once, before the first move. ≤ 10 µs, never blocks, never waits for the writer.
  virtual void on_commit(std::function<void(const Commit&)> hook) = 0;
  // `scope` runs on that thread before the completions of each group; what it returns is destroyed
  // after them. Set before the first move.
  virtual void announce_within(std::function<std::shared_ptr<void>()> scope) = 0;
  // A thread whose clients wait for what is announced may share the announce thread's work (ADR 33): it is
  // lent a descriptor, which can be read when there is something for it (-1: none to be had), then takes what
  // there is, on its own thread: completions and hook run there then, one group at a time, in order.
  // Returned before the store is closed.
  virtual int lend_announcements() = 0;
  virtual void take_announcements() = 0;
  virtual void return_announcements() = 0;
  // Whether there will probably be something for that thread as soon as the log is on the disk. Cheap.
  virtual bool announcements_are_due() const = 0;

  // Runs on the commit thread after each committed group, outside of the lock: how many operations it had,
  // and the time from the lock to the end of COMMIT. Set before the first move. ≤ 1 µs, never blocks.
  virtual void on_group(GroupWatch watch) = 0;

  struct Health {
    bool store_ok = true;
    std::string store_detail;  // names the holder of a stuck lock
    bool disk_ok = true;
    std::string disk_detail;  // free bytes against `disk_free_min`: for operators, no tenant sees it
  };
  virtual Health health() const = 0;

  struct Stats {
    std::uint64_t groups_total = 0, operations_total = 0, failed_groups_total = 0;
    double commit_seconds_max = 0;
    std::int64_t wal_bytes = 0, db_bytes = 0, disk_free_bytes = 0;
    std::size_t queue_depth = 0;
    std::uint64_t checkpoints_total = 0, wal_restarts_total = 0;
  };
  virtual Stats stats() const = 0;

  // Drains the writer's queue, announces, stops the threads, closes. Idempotent.
  virtual void close() = 0;
};

}  // namespace millrace::storage
