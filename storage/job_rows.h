#pragma once
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "schemas/job.h"
#include "storage/sqlite.h"

// Inside storage: the hot row of a job as its moves see it.
namespace millrace::storage {

// `run_at` of a queued job that waits for its machine to wake: never. SQL has it as the literal
// 9223372036854775807, so that partial indexes are used.
inline constexpr std::int64_t kWaitsForMachine = std::numeric_limits<std::int64_t>::max();

struct JobRow {
  base::Uuid id;
  std::string tenant;
  schemas::Kind kind = schemas::Kind::kOcr;
  schemas::JobStatus status = schemas::JobStatus::kQueued;
  int priority = 0;
  schemas::Rerun rerun = schemas::Rerun::kAtLeastOnce;
  std::int64_t run_at = 0, deadline = 0, created_at = 0;  // wall ms
  std::string model;
  std::string lane_key;                             // empty: none
  std::optional<std::int64_t> spec, input, result;  // rowids: job_specs, blobs, job_results
  std::optional<base::Uuid> retry_of, parent;
  std::string idempotency;  // key of its row; empty: none
  int child_index = 0, children = 0, children_left = 0;
  std::int64_t epoch = 1, published_at = 0;
  int attempt = 0, spared = 0, crashes = 0, losses = 0;
  std::optional<base::Uuid> token;
  bool cancel_requested = false;
  int progress_done = 0, progress_total = 0;
  std::int64_t version = 1;
  std::optional<std::int64_t> completed_at;

  schemas::JobId job() const { return {kind, id}; }
};

struct NewSpec {
  std::string_view bytes;            // at most 32 KiB; unused with a blob
  std::optional<std::int64_t> blob;  // blobs.id, whose reference the row takes over
  std::string_view traceparent;      // empty: none
};

std::optional<JobRow> find_job(Db& db, const base::Uuid& id);
// The same, absent also when the id names another kind, another tenant, or a child.
std::optional<JobRow> find_root(Db& db, std::string_view tenant, const schemas::JobId& job);
// A new queued row; its run_at is 0 or kWaitsForMachine. It is pending (Db::pending) until the next statement
// or the end of the transaction: those that come one after the other are written by few statements. A row
// that cannot be written ends the transaction then.
void insert_job(Db& db, JobRow row);
// The spec of a new job, pending as its job is: what the views show must be there until the end of the
// transaction. Returns job_specs.id.
std::int64_t insert_job_spec(Db& db, const NewSpec& spec);

// A move has just read the row that it writes, inside one transaction: a guard that does not hold then is a
// fault of ours. Throws SqliteError, so that the operation is rolled back and fails alone.
void expect_one_change(const Statement& statement, std::string_view move);

}  // namespace millrace::storage
