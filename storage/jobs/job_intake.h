#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schemas/jobs/job.h"
#include "schemas/tenants/money.h"
#include "storage/batches/batch_line.h"
#include "storage/blobs/blobs.h"
#include "storage/jobs/idempotent_call.h"
#include "storage/jobs/job_queries.h"
#include "storage/store.h"
#include "storage/webhooks/request_webhooks.h"

namespace millrace::storage {

inline constexpr std::size_t kSecretMax = kInlineMax * 8;

// A job to create. A `spec` (JSON, or in the encoding of its kind) above kInlineMax is passed as `spec_blob`
// instead. Files are staged already.
struct Submission {
  schemas::JobId id;
  std::string tenant;
  std::string key_id;  // the API key of the request, whose quotas apply too; empty: none
  std::string model;
  int priority = 0;
  std::optional<schemas::Rerun> rerun;  // absent: at least once; jobs::JobSubmitter fills in the kind's
  // Counted from the time of the group (Tx::now). A job that has not started after this time expires. Absent:
  // schemas::kDefaultJobDeadline; jobs::JobSubmitter fills in the kind's.
  std::optional<std::chrono::milliseconds> deadline_after;
  // Set: the job is scheduled, and does not run before this time; the deadline counts from there. A time
  // that has passed counts as absent. Jumps of the wall clock move the end of a delay, but no time.
  std::optional<schemas::JobStart> start;
  std::chrono::milliseconds run_at_max = std::chrono::milliseconds::max();  // how far ahead `start` may be
  std::string lane_key;                                                     // empty: none
  std::string spec;
  Staged spec_blob;  // may be null
  std::string name;  // schemas::job_name, of a job with `spec_blob`; the name of others is in `spec`
  Staged input;      // the document; may be null
  // Set: the input is the content of this file (Files). kNotFound: the tenant has no such file.
  std::optional<base::Uuid> input_file;
  std::string secret;       // sealed bytes, at most kSecretMax, of kind exec only; deleted when the job ends
  std::string traceparent;  // may be empty
  std::string metadata;     // schemas::Metadata as JSON; empty: none
  // Set: the end of the job is sent to this URL. kInvalidState, kQuotaFull: find_request_webhook.
  std::optional<RequestWebhook> webhook{};
  std::optional<IdempotencyKey> idempotency;
  // Of kind exec: the machine to run on. If the machine is asleep, the job waits for it, and a machine
  // operation with this new id wakes it, unless an operation is already running. A scheduled job wakes it at
  // its time. kNotFound: no such machine.
  // kInvalidState: the machine is being destroyed.
  std::optional<base::Uuid> machine;
  schemas::JobId wake{schemas::Kind::kMachine, {}};  // nil: jobs::JobSubmitter makes one
  std::string actor;                                 // for the audit log; empty: not audited
  // The most that one call of the job may cost. Absent: its model has no price, so that owners with a budget
  // may not use it.
  std::optional<schemas::NanoUsd> cost_max = 0;
  // Set: the job executes this line of a batch, which it takes in the same transaction. kInvalidState: it was
  // submitted before, or its driver is another one by now. kBudgetExceeded: also the limit of the batch.
  std::optional<BatchLineRef> batch_line{};
};

struct Submitted {
  schemas::JobId job;
  bool replayed = false;  // the key had created `job` before; nothing was written
  schemas::JobStatus status = schemas::JobStatus::kQueued;
  std::optional<base::WallTime> run_at{};  // of a job that is scheduled
};

struct Retry {
  Caller by;
  schemas::JobId old;
  bool only_once = false;  // if `old` has a retry already, that one is returned, as `replayed`
  std::optional<IdempotencyKey> idempotency{};
  std::string traceparent{};
  // Submission::cost_max, for an old job that was stored without it; the error says why it is not known.
  base::Result<schemas::NanoUsd> cost_max = 0;
  schemas::JobId new_job = {};                  // jobs::JobSubmitter makes one
  std::chrono::milliseconds deadline_after{0};  // jobs::JobSubmitter fills in the kind's
};

struct Removed {
  CallReply reply;
  std::vector<std::string>
      files;  // without references now: the caller unlinks them (Blobs::unlink), off this thread
};

// Writes on behalf of clients. They never block; `done` runs on the completion thread after the commit.
class JobIntake {
 public:
  explicit JobIntake(Store& store) : store_(store) {}

  // Inserts the job row, the spec, the idempotency row (and the outbox row) in one transaction.
  // kInvalidField: schemas::check_start; a repeat with the same key returns the job even then.
  // kIdempotencyReused: same key, other fingerprint. kQuotaExceeded, kQuotaFull: a quota of the tenant or the
  // key (running_jobs, stored_jobs, stored_bytes). kBudgetExceeded: `cost_max` exceeds a budget. kOverloaded:
  // the disk or the queue is full, or the store is degraded.
  void submit(Submission submission, Callback<Submitted> done);
  // Queued or waiting: the job is cancelled at once, and maintenance cancels its children. Running: the
  // cancellation is requested; the worker gets it from the commit or its next heartbeat. Terminal: unchanged.
  // kNotFound: unknown, or another tenant's. kOverloaded: the store is degraded.
  void cancel(Caller by, schemas::JobId job, Callback<schemas::JobView> done);
  // DELETE of an execution in one write (docs/design/http-contract.md §1). Not ended: as `cancel`. Ended:
  // deletes the job and its rows; the id is kNotFound then. The reply shows the job after the cancel, or
  // before the deletion. A running job is still shown as `running`, with cancel_requested; the worker ends it
  // later. With an Idempotency-Key a repeated DELETE returns the first reply, so it cannot delete what it has
  // cancelled. kInvalidState: it has ended, and children of it still run.
  void cancel_or_delete(schemas::JobId job, IdempotentCall call, ReplyBuilder<JobRecord> reply,
                        Callback<CallReply> done);
  // DELETE of a job of any kind in one write. Ended: its rows are deleted. Not ended: as `cancel`, and
  // maintenance deletes it when it has ended. The reply shows the job after the cancel, or before the
  // deletion. Repeated calls: as cancel_or_delete. kNotFound: unknown, another tenant's, or deleted.
  void remove(schemas::JobId job, IdempotentCall call, ReplyBuilder<schemas::JobView> reply,
              Callback<Removed> done);
  // Creates the job `new_job` (retry_of = old) from the stored spec and input of a failed, expired or
  // cancelled root job. kForbidden: Caller::only_own. Keys and quotas: as `submit`. kInvalidState: another
  // status, the input is gone, or kind exec, whose environment was deleted with the old job. kRequestDamaged:
  // the stored spec is damaged. Under a budget, the error of Retry::cost_max if the old job has no bound
  // either.
  void retry(Retry retry, Callback<Submitted> done);

 private:
  Store& store_;
};

}  // namespace millrace::storage
