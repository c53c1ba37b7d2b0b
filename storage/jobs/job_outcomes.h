#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "schemas/jobs/job.h"
#include "schemas/tenants/money.h"
#include "storage/blobs/blobs.h"
#include "storage/jobs/job_claims.h"

namespace millrace::storage {

// The result of a report. "Did not apply" is different from "failed".
enum class ReportResult {
  kApplied,
  kLeaseLost,  // attempt, token or status no longer match: drop the result and kill what runs
  kCancelled,  // a cancel had been requested, so the job became `cancelled` instead
  kRepeated,   // the same lease has already ended the job (its reply was lost): success
};

// Bytes of at most kInlineMax, or a staged blob.
struct Payload {
  std::string bytes;
  Staged blob;
};

// Limit of an event's data. It fits 32 KiB of text even if JSON escapes every byte.
inline constexpr std::size_t kEventMax = kInlineMax * 8;

struct ChildSpec {
  std::string spec;   // JSON, at most kInlineMax
  schemas::JobId id;  // the ids of a split must ascend and be created together (FairQueueCursor)
};

// What a retry counts as.
struct RetryPlan {
  std::chrono::milliseconds delay{0};  // run_at = now + delay
  schemas::JobError
      error;           // the reason; stored in the event, and as the job's error if this was the last attempt
  bool crash = false;  // its supervised child process died: crashes + 1
  bool loss = false;   // the worker's fault: losses + 1
  // Greater than 0: the job fails with `error` once this many attempts were used. 0: this attempt is free,
  // like losses, drains and splits.
  int attempts_max = 0;
  int crashes_max = 3;                    // when reached: failed with poison_job
  int losses_max = 20;                    // when reached: failed with worker_lost
  std::optional<schemas::Charge> used{};  // as JobOutcomes::Used
  std::string result;  // the result to store if this was the last attempt, at most kInlineMax; empty: none
};

// Reports of a worker on an attempt. Every write is guarded by (attempt, token, running) in SQL. Writes never
// block; `done` runs on the completion thread. When a child ends, one shared function decrements the parent's
// children_left in the same transaction (rule 5).
class JobOutcomes {
 public:
  explicit JobOutcomes(Store& store) : store_(store) {}

  // What the attempt's calls to models used. Absent: unknown, so the most that the calls it sent may cost is
  // charged.
  using Used = std::optional<schemas::Charge>;

  // The four ends of an attempt. If a cancel was requested, each of them makes the job `cancelled`. Then the
  // result is dropped, unless the kind keeps it (KindRules::keeps_result).

  // → succeeded with the result.
  void finish(Lease lease, Payload result, Callback<ReportResult> done, Used used = {});
  // → failed. `result` may hold a result to store anyway (a reply body with its own status).
  void fail(Lease lease, schemas::JobError error, Payload result, Callback<ReportResult> done,
            Used used = {});
  // → cancelled: the worker has stopped the job because of a cancel request. `result` as above.
  void cancelled(Lease lease, Payload result, Callback<ReportResult> done, Used used = {});
  // → expired: the kind's own time-out has passed.
  void expired(Lease lease, schemas::JobError error, Payload result, Callback<ReportResult> done,
               Used used = {});
  // → queued at run_at with epoch + 1; → cancelled if requested; → failed when a limit is reached, or at once
  // for at-most-once jobs (`worker_lost`).
  void retry(Lease lease, RetryPlan plan, Callback<ReportResult> done);
  // The worker drains: → queued as a free attempt; at-most-once → failed with worker_lost.
  void return_to_queue(Lease lease, Callback<ReportResult> done, Used used = {});
  // → waiting; inserts the children and sets children_left = n in one transaction. Refused (kCancelled) if a
  // cancel was requested. `progress_total` is the parent's, in parts. kInvalidState: the job is a child, was
  // split before, or is at-most-once, which never returns to the queue.
  void split(Lease lease, std::vector<ChildSpec> children, int progress_total, Callback<ReportResult> done);

  // Stores parts (pages) of the root job (the parent, or the job itself). Idempotent by (root, index). Raises
  // the root's progress and version. An existing part is replaced only if `replace`. Adds `engine_time` to
  // the root's. kLeaseLost also if the root has ended.
  struct Part {
    int index = 0;
    Payload payload;  // JSON
    bool replace = false;
  };
  void parts(Lease lease, std::vector<Part> parts, std::chrono::milliseconds engine_time,
             Callback<ReportResult> done);
  // Appends output of a running root job as events to its history, in this order, also after a cancel
  // request. kInvalidState: the job is a child. kInternal: an event is larger than kEventMax.
  struct Event {
    std::string type;
    std::string data;  // a JSON object, at most kEventMax
  };
  void events(Lease lease, std::vector<Event> events, Callback<ReportResult> done);
  // The attempt is about to call a model. If the job was accepted under a budget, reserves what its calls may
  // cost; if the budget does not allow it, the job fails with budget_exceeded, and the result is kLeaseLost.
  struct ModelCall {
    // The most that all calls of the attempt may cost, with this one. Absent: its model has no price.
    std::optional<schemas::NanoUsd> attempt_max = 0;
    std::string event_data = {};                      // of the root job's event `sent`; empty: no event
    std::optional<schemas::Charge> used_before = {};  // by the calls before
  };
  void call(Lease lease, ModelCall call, Callback<ReportResult> done);
  // Stores files that a running command has produced; their rows are deleted with the job. At most
  // schemas::kArtifactsMax per job; a file whose name already exists, or that exceeds the stored_bytes of the
  // job's owners, is skipped.
  struct NewArtifact {
    base::Uuid id;
    std::string name, mime_type;
    Staged content;
  };
  void artifacts(Lease lease, base::Uuid machine, std::vector<NewArtifact> files,
                 Callback<ReportResult> done);
  // Stores the number of parts. For OCR they are pages: if the owners' pages_per_day does not allow them, the
  // job fails with quota_exceeded, and the result is kLeaseLost. The same holds for `split`.
  void progress_total(Lease lease, int total, Callback<ReportResult> done);
  // Stores the document that the runner fetched from a URL, so that a retry does not fetch it again. If the
  // owners' stored_bytes does not allow it, the job fails with quota_exceeded, and the result is kLeaseLost.
  void attach_input(Lease lease, Staged input, Callback<ReportResult> done);

 private:
  Store& store_;
};

}  // namespace millrace::storage
