#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "schemas/jobs/job.h"
#include "schemas/jobs/job_metadata.h"
#include "schemas/tenants/money.h"
#include "storage/blobs/blobs.h"
#include "storage/store.h"

namespace millrace::storage {

class Db;
struct JobRow;

struct StoredPayload {
  std::string bytes;
  std::optional<BlobRef> blob;  // set: `bytes` is empty
  // kRequestDamaged or kResultDamaged: the stored bytes have changed or are missing; `bytes` is empty.
  std::optional<base::Code> damaged{};
};

// The error for a damaged payload, for clients.
base::Error damaged_payload(base::Code code);

struct StoredPart {
  int index = 0;
  StoredPayload payload;
};

struct PartSize {
  int index = 0;
  std::size_t bytes = 0;
};

struct JobFilter {
  std::optional<schemas::Kind> kind{};
  std::optional<std::string> status{};  // the public status name
  std::optional<std::string> model{};
  std::optional<base::WallTime> created_after{}, created_before{};  // inclusive, and exclusive
  std::string id_contains{};
  // The id or the name (schemas::job_name) contains it; letters of ASCII match in both cases.
  std::string text{};
  std::vector<schemas::Kind> names_hidden{};  // of these kinds, `text` is searched only in the ids
  schemas::Metadata metadata{};               // the job has all these pairs; never of `names_hidden`
  std::optional<std::string> error{};         // error code of a failed job
  std::optional<base::Uuid> batch{};          // jobs of its lines
  std::optional<std::string> tenant{};        // for administrators; lists of one tenant set it
};

struct JobPage {
  std::vector<schemas::JobView> items;  // newest first; may be shorter than the limit, or empty, if the limit
                                        // of examined rows was reached
  std::optional<base::Uuid> next;       // continue before this id; absent: there are no more
};

// Rows that one `list` examines for its page: some 20 ms.
inline constexpr int kListRowsMax = 20'000;

// Counting stops here, so that a read ends within its second whatever the backlog is.
inline constexpr std::int64_t kDepthMax = 1'000'000;

struct QueueDepth {
  schemas::Kind kind;
  std::int64_t queued = 0, running = 0, waiting = 0;
  std::int64_t scheduled = 0;                   // not in `queued`
  std::optional<base::WallTime> oldest_queued;  // since when it waits; a scheduled job from its run_at on
};

// A job with its spec, result and artifacts.
struct JobRecord {
  schemas::JobView job;
  std::string lane_key;
  StoredPayload spec;
  std::optional<StoredPayload> result;
  std::vector<std::pair<base::Uuid, std::string>> artifacts{};  // id and name, oldest first
};

// The spec and the input of a job.
struct StoredInput {
  StoredPayload spec;
  std::optional<BlobRef> input;  // absent: the job has none, has not fetched it yet, or retention has deleted
                                 // it; if its row is missing, `spec` is damaged
  std::string metadata;          // Submission::metadata
  std::optional<schemas::NanoUsd> cost_max;  // Submission::cost_max; absent also if it was not known then
};

struct StoredResult {
  schemas::JobView job;
  std::optional<StoredPayload> payload;  // absent: none, or deleted by retention
};

// Reads for one tenant. Only root jobs: children are never shown. Blocking: for pool and slot threads.
// Returns values; no cursor leaves the class.
class JobQueries {
 public:
  explicit JobQueries(Store& store) : store_(store) {}

  base::Result<schemas::JobView> job(const std::string& tenant, const schemas::JobId& job);  // kNotFound
  base::Result<std::vector<schemas::JobView>> jobs(const std::string& tenant,
                                                   const std::vector<schemas::JobId>& ids);
  base::Result<JobPage> list(const std::string& tenant, const JobFilter& filter, int limit,
                             std::optional<base::Uuid> before, int rows_max = kListRowsMax);
  base::Result<std::vector<schemas::JobEvent>> events(const std::string& tenant, const schemas::JobId& job,
                                                      std::int64_t after_version, int limit);
  base::Result<StoredResult> result(const std::string& tenant, const schemas::JobId& job);
  base::Result<StoredInput> input(const std::string& tenant, const schemas::JobId& job);  // kNotFound
  base::Result<JobRecord> record(const std::string& tenant, const schemas::JobId& job);   // kNotFound
  // Jobs of one lane, newest first, before this id.
  base::Result<std::vector<JobRecord>> lane(const std::string& tenant, schemas::Kind kind,
                                            const std::string& lane_key, int limit,
                                            std::optional<base::Uuid> before);
  // The sealed bytes of a job that has not ended; empty: it has none. For runners.
  base::Result<std::string> secret(const schemas::JobId& job);
  // The parts stored so far, by index: their sizes, and one part (kNotFound: it does not exist).
  base::Result<std::vector<PartSize>> part_sizes(const std::string& tenant, const schemas::JobId& root);
  base::Result<StoredPayload> part(const std::string& tenant, const schemas::JobId& root, int index);

  // For runners: the indexes of the root's existing parts, and all parts.
  base::Result<std::vector<int>> part_indexes(const schemas::JobId& root);
  base::Result<std::vector<StoredPart>> all_parts(const schemas::JobId& root);
  // For runners: the processor time that the engine has used for the root so far.
  base::Result<std::chrono::milliseconds> engine_time(const schemas::JobId& root);
  struct ChildEnd {
    int child_index = 0;
    std::string spec;
    schemas::JobStatus status;
    std::optional<schemas::JobError> error;
  };
  base::Result<std::vector<ChildEnd>> children(
      const schemas::JobId& parent);  // kRequestDamaged: a child's spec is damaged

  // For waiters: (job, version, status) of many jobs in one read.
  base::Result<std::vector<schemas::JobChange>> versions(const std::vector<schemas::JobId>& jobs);
  // Queue depths, for metrics and `millrace doctor`.
  base::Result<std::vector<QueueDepth>> depths();

 private:
  Store& store_;
};

// Inside storage: a job as its owner sees it.

// `options` say how long results are kept after the job's end.
std::optional<schemas::JobView> find_view(Db& db, const base::Uuid& id, const Store::Options& options);
// The job's name (schemas::job_name), from its spec: some 10 µs.
std::string find_name(Db& db, const schemas::JobId& job);
// The view with the job's name; for reads that show jobs.
std::optional<schemas::JobView> find_named_view(Db& db, const base::Uuid& id, const Store::Options& options);

// A root job with everything that its owner may see.
JobRecord record_of(Db& db, const Store::Options& options, const JobRow& row);

}  // namespace millrace::storage
