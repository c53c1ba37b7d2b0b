#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "schemas/job.h"
#include "storage/blobs.h"
#include "storage/store.h"

namespace millrace::storage {

struct StoredPayload {
  std::string bytes;
  std::optional<BlobRef> blob;  // set: `bytes` is empty
  // kRequestDamaged or kResultDamaged: the bytes in the row are not those that were stored; `bytes` is empty.
  std::optional<base::Code> damaged{};
};

// The error of a payload that is damaged, for clients.
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
  std::optional<std::string> status{};  // public name
  std::optional<std::string> model{};
  std::optional<base::WallTime> created_after{}, created_before{};  // from, and before
  std::string id_contains{};                                        // `q`
  std::optional<std::string> error{};                               // code of what it failed of
  std::optional<std::string> tenant{};  // for administrators; lists of a tenant set it
};

struct JobPage {
  std::vector<schemas::JobView>
      items;                       // newest first; fewer than asked for, or none, once enough rows were seen
  std::optional<base::Uuid> next;  // continue before this id; absent: there is no more
};

// Rows that one `list` looks at for its page: some 20 ms.
inline constexpr int kListRowsMax = 20'000;

// Counting stops here: a read ends within its second whatever the backlog.
inline constexpr std::int64_t kDepthMax = 1'000'000;

struct QueueDepth {
  schemas::Kind kind;
  std::int64_t queued = 0, running = 0, waiting = 0;
  std::optional<base::WallTime> oldest_queued;
};

// A job with what it was made from and what it came to.
struct JobRecord {
  schemas::JobView job;
  std::string lane_key;
  StoredPayload spec;
  std::optional<StoredPayload> result;
  std::vector<std::pair<base::Uuid, std::string>> artifacts{};  // id and name, in order of their making
};

// What a job was made from.
struct StoredInput {
  StoredPayload spec;
  std::optional<BlobRef> input;  // absent: it has none, has not fetched it yet, or retention has removed it
};

struct StoredResult {
  schemas::JobView job;
  std::optional<StoredPayload> payload;  // absent: none, or removed by retention
};

// Reads, bound to a tenant; root jobs only (children are never shown). Blocking: pool and slot threads.
// Values only, no cursor leaves the class.
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
  // Of one lane, newest first, before this id.
  base::Result<std::vector<JobRecord>> lane(const std::string& tenant, schemas::Kind kind,
                                            const std::string& lane_key, int limit,
                                            std::optional<base::Uuid> before);
  // The sealed bytes of a job that has not ended; empty: it has none. For runners.
  base::Result<std::string> secret(const schemas::JobId& job);
  // Parts so far, by index: how large each is, and one of them (kNotFound: it is not there).
  base::Result<std::vector<PartSize>> part_sizes(const std::string& tenant, const schemas::JobId& root);
  base::Result<StoredPayload> part(const std::string& tenant, const schemas::JobId& root, int index);

  // For runners: indexes of the root's parts that exist, and errors of its failed children by child_index.
  base::Result<std::vector<int>> part_indexes(const schemas::JobId& root);
  base::Result<std::vector<StoredPart>> all_parts(const schemas::JobId& root);
  struct ChildEnd {
    int child_index = 0;
    std::string spec;
    schemas::JobStatus status;
    std::optional<schemas::JobError> error;
  };
  base::Result<std::vector<ChildEnd>> children(const schemas::JobId& parent);  // kRequestDamaged: a child's

  // For waiters: (job, version, status) of many jobs at once.
  base::Result<std::vector<Change>> versions(const std::vector<schemas::JobId>& jobs);
  // For metrics and doctor.
  base::Result<std::vector<QueueDepth>> depths();

 private:
  Store& store_;
};

}  // namespace millrace::storage
