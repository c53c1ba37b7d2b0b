#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "platform/base/ids.h"
#include "schemas/jobs/job.h"
#include "schemas/tenants/money.h"
#include "storage/sql.h"

// Inside storage: a job's row in `jobs` as transitions use it.
namespace millrace::storage {

struct JobRow {
  base::Uuid id;
  std::string tenant;
  schemas::Kind kind = schemas::Kind::kOcr;
  schemas::JobStatus status = schemas::JobStatus::kQueued;
  int priority = 0;
  schemas::Rerun rerun = schemas::Rerun::kAtLeastOnce;
  std::int64_t created_at = 0;  // wall ms
  std::int64_t run_at = 0;      // its meaning: Schedule
  Schedule schedule = Schedule::kNone;
  // Wall ms when `jumped_ms` was the sum of the clock's jumps. While `schedule` is kDelay, in steady time.
  std::int64_t deadline = 0;
  std::int64_t jumped_ms = 0;  // when `deadline` was set; of an ended job: `completed_at`
  std::string model;
  std::string lane_key;                             // empty: none
  std::optional<std::int64_t> spec, input, result;  // rowids: job_specs, blobs, job_results
  std::optional<base::Uuid> retry_of, parent;
  std::string idempotency;                       // the key of its idempotency row; empty: none
  std::string metadata;                          // schemas::Metadata as JSON; empty: none
  std::string key_id;                            // the API key that created it; empty: none did
  std::int64_t bytes = 0;                        // what a root job counts for its owners' stored_bytes
  std::optional<schemas::NanoUsd> cost_max = 0;  // of one call to its model; absent: unknown
  int child_index = 0, children = 0, children_left = 0;
  std::int64_t epoch = 1, published_at = 0;
  int attempt = 0, free_attempts = 0, crashes = 0, losses = 0;
  std::optional<base::Uuid> token;
  bool cancel_requested = false;
  int progress_done = 0, progress_total = 0;
  std::int64_t version = 1;
  std::optional<std::int64_t> completed_at;

  schemas::JobId job() const { return {kind, id}; }
  // True: the job waits for the client's run_at or delay.
  bool is_scheduled() const { return schedule != Schedule::kNone; }
  // The deadline in steady time. REQUIRES: not scheduled.
  std::int64_t steady_deadline() const { return deadline - jumped_ms; }
};

// The wall time at which a scheduled job runs, by the present sum of the clock's jumps. Absent: not
// scheduled.
std::optional<base::WallTime> scheduled_time(const JobRow& row, std::chrono::milliseconds jumped);

struct NewSpec {
  std::string_view bytes;            // at most 32 KiB; unused with a blob
  std::optional<std::int64_t> blob;  // blobs.id; the row takes over its reference
  std::string_view traceparent;      // empty: none
  std::string_view name = {};        // of the job; stored only with a blob
};

// The error for a job that does not exist. kNotFound.
base::Error no_such_job();
std::optional<JobRow> find_job(Db& db, const base::Uuid& id);
void prefetch_job(Db& db, const base::Uuid& id);  // for find_job
// Whether the job was deleted by its owner and its row only waits for its parts to end.
bool is_removed(Db& db, const base::Uuid& id);
// The same, but also absent if the id belongs to another kind, another tenant or a child.
std::optional<JobRow> find_root(Db& db, std::string_view tenant, const schemas::JobId& job);
// Inserts a new queued row; its run_at is 0, kWaitsForMachine or scheduled. The row is pending (Db::pending)
// until the next statement or the end of the transaction, so that rows inserted one after the other need few
// statements. If a row cannot be written, the transaction fails at that point.
void insert_job(Db& db, JobRow row);
// Inserts the spec of a new job; pending like the job itself. The memory behind its views must stay valid
// until the end of the transaction. Returns job_specs.id.
std::int64_t insert_job_spec(Db& db, const NewSpec& spec);

// A transition has just read the row that it writes, in the same transaction. If its guard does not match
// then, that is a bug. Throws DbError, so that the operation is rolled back and fails alone.
void expect_one_change(const Statement& statement, std::string_view move);

// Inside storage: the sealed bytes of open jobs.

void insert_secret(Db& db, const base::Uuid& job, std::string_view sealed);
// Empty if there are none.
std::string find_secret(Db& db, const base::Uuid& job);
// Deletes the row and overwrites its bytes (secure_delete).
void wipe_secret(Db& db, const base::Uuid& job);

// Inside storage: by how much the times in ids can be later than the times of their rows. With this bound, a
// row's time limits where its id can be. An id's time can be later because a group reads the clock before its
// last jobs arrive, and because ids never go back while the wall clock may. A skew above kIdClockSkewMin is
// recorded in the row's own transaction; this is rare.

inline constexpr std::chrono::milliseconds kIdClockSkewMin{1'000};

// Call for every row that is written.
void record_id_clock_skew(Db& db, const JobRow& row);
// Upper bound over all rows. It only grows.
std::chrono::milliseconds id_clock_skew(Db& db);

}  // namespace millrace::storage
