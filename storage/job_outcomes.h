#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "schemas/job.h"
#include "storage/blobs.h"
#include "storage/job_claims.h"

namespace millrace::storage {

// "Did not apply" is different from "failed".
enum class Applied {
  kYes,
  kLeaseLost,  // attempt, token or state no longer match: drop the result, kill what runs
  kCancelled,  // cancel had been requested: the job became `cancelled` instead
  kRepeated,   // this very lease has finished the job before (the reply was lost): success
};

// Bytes up to kInlineMax, or a staged blob.
struct Payload {
  std::string bytes;
  Staged blob;
};

// Of an event's data: 32 KiB of text of which JSON escapes every byte still pass.
inline constexpr std::size_t kEventMax = kInlineMax * 8;

struct ChildSpec {
  std::string spec;   // JSON, ≤ kInlineMax
  schemas::JobId id;  // of a split: rising, made in one go (storage/turns.h)
};

// What a retry costs.
struct RetryPlan {
  std::chrono::milliseconds delay{0};  // run_at = now + delay
  schemas::JobError error;             // why; kept in the event, and the job's error when it is the last
  bool crash = false;                  // its own supervised child died: crashes + 1
  bool loss = false;                   // the worker's fault: losses + 1
  // > 0 and as many attempts were used: failed with `error`. 0: this attempt uses none, as losses, drains and
  // splits do.
  int attempts_max = 0;
  int crashes_max = 3;  // reached: failed poison_job
  int losses_max = 20;  // reached: failed worker_lost
  std::string result;   // what the kind has to show if it is the last, ≤ kInlineMax; empty: nothing
};

// What a worker says of an attempt. Every move is guarded by (attempt, token, running) in SQL; never blocks,
// `done` on the announce thread. Terminal moves of a child lower the parent's children_left in the same
// transaction, by one shared function (rule 5).
class JobOutcomes {
 public:
  explicit JobOutcomes(Store& store) : store_(store) {}

  // → succeeded with the result. As every end below: → cancelled if cancel was requested, the result dropped
  // unless it says what the job has done (exec).
  void finish(Lease lease, Payload result, Done<Applied> done);
  // → failed. `result` may hold what the kind still has to show (a reply body with its own status).
  void fail(Lease lease, schemas::JobError error, Payload result, Done<Applied> done);
  // → cancelled: the worker has stopped because it was asked to. `result` as above.
  void cancelled(Lease lease, Payload result, Done<Applied> done);
  // → expired: the kind's own time-out passed.
  void expired(Lease lease, schemas::JobError error, Payload result, Done<Applied> done);
  // → queued at run_at with epoch + 1; → cancelled if requested; → failed at a bound, or at once for
  // at-most-once
  // (`worker_lost`).
  void retry(Lease lease, RetryPlan plan, Done<Applied> done);
  // Drain: → queued without cost; at-most-once → failed worker_lost.
  void give_back(Lease lease, Done<Applied> done);
  // → waiting; children inserted, children_left = n, one transaction. Refused (kCancelled) if cancel was
  // requested. `progress_total` is the parent's, in parts. kInvalidState: a child, a job that was split
  // before, or at-most-once, which never comes back to the queue.
  void split(Lease lease, std::vector<ChildSpec> children, int progress_total, Done<Applied> done);

  // One part (a page) of the root job (the parent, or the job itself), idempotent by (root, index): raises
  // the root's progress and version. A part that is there already is replaced only if `replace`. kLeaseLost
  // also when the root has ended.
  struct Part {
    int index = 0;
    Payload payload;  // JSON
    bool replace = false;
  };
  void parts(Lease lease, std::vector<Part> parts, Done<Applied> done);
  // What a running root job has to tell (its output), as events of its history in this order, also after a
  // cancel request. kInvalidState: a child. kInternal: one above kEventMax.
  struct Event {
    std::string type;
    std::string data;  // a JSON object, ≤ kEventMax
  };
  void events(Lease lease, std::vector<Event> events, Done<Applied> done);
  // Files that a running command has left: rows that go with the job. At most schemas::kArtifactsMax in all;
  // one of a name that is there is skipped.
  struct NewArtifact {
    base::Uuid id;
    std::string name, mime_type;
    Staged content;
  };
  void artifacts(Lease lease, base::Uuid machine, std::vector<NewArtifact> files, Done<Applied> done);
  void progress_total(Lease lease, int total, Done<Applied> done);
  // The document that the runner fetched from a URL, so that a retry does not fetch again.
  void attach_input(Lease lease, Staged input, Done<Applied> done);

 private:
  Store& store_;
};

}  // namespace millrace::storage
