#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "schemas/job.h"
#include "storage/blobs.h"
#include "storage/idempotency_key.h"
#include "storage/job_queries.h"
#include "storage/machine_calls.h"
#include "storage/store.h"

namespace millrace::storage {

inline constexpr std::size_t kSecretMax = kInlineMax * 8;

// A job to be. `spec` (JSON, or as its kind packs it) above `kInlineMax` travels as `spec_blob` instead.
struct Submission {
  schemas::JobId id;
  std::string tenant;
  std::string model;
  int priority = 0;
  schemas::Rerun rerun = schemas::Rerun::kAtLeastOnce;
  std::chrono::milliseconds deadline_after{
      std::chrono::hours(24)};  // from the group's time; not started by then: expired
  std::string lane_key;         // empty: none
  std::string spec;
  Staged spec_blob;         // may be null
  Staged input;             // the document; may be null
  std::string secret;       // sealed bytes, ≤ kSecretMax, of kind exec only; wiped when the job ends
  std::string traceparent;  // may be empty
  std::optional<IdempotencyKey> idempotency;
  // Of kind exec: the machine that it is for. Asleep: the job waits for it, and the machine is woken by an
  // act of this fresh id unless one is under way. kNotFound: there is none; kInvalidState: it is being
  // destroyed.
  std::optional<base::Uuid> machine;
  schemas::JobId wake{schemas::Kind::kMachine, {}};
  std::string actor;       // for the audit log; empty: not audited
  bool join_only = false;  // with `idempotency`: only what the key has made before, else kNotFound
};

struct Submitted {
  schemas::JobId job;
  bool replayed = false;  // the key had made `job` before; nothing was written
  schemas::JobStatus status = schemas::JobStatus::kQueued;
};

// What clients ask of the store. Every method is a move: never blocks, `done` on the announce thread after
// the commit.
class JobIntake {
 public:
  explicit JobIntake(Store& store) : store_(store) {}

  // Job row, spec, idempotency row (and outbox row) in one transaction. kIdempotencyReused: same key, other
  // fingerprint. kOverloaded: disk full, queue full, store degraded.
  void submit(Submission submission, Done<Submitted> done);
  // Queued or waiting: cancelled at once (children follow by upkeep). Running: asked for; the worker hears it
  // by the commit or its next heartbeat. Terminal: unchanged. kNotFound: unknown or another tenant's.
  // kOverloaded: store degraded.
  void cancel(Caller by, schemas::JobId job, Done<schemas::JobView> done);
  // A terminal root job's row and all that hangs on it are removed at once, as retention does in time; later
  // it is kNotFound. kInvalidState: not terminal, or children of it still run.
  void forget(Caller by, schemas::JobId job, Done<bool> done);
  // DELETE of an execution in one move, as contract.md §1: open → asked to stop, terminal → forgotten. The
  // answer is the record as it was, or is after the cancel, and is the stored one for a key that was used
  // before: a client that repeats a lost cancel does not forget what it has cancelled.
  void remove(schemas::JobId job, MachineCall call, Compose<JobRecord> reply, Done<Answer> done);
  // A new job `fresh` (retry_of = old) from the stored spec and input of a failed, expired or cancelled root
  // job; kInvalidState otherwise, when the input is gone, or for kind exec, whose
  // environment went with the old job; kRequestDamaged: the spec is not what was stored.
  void retry(std::string tenant, schemas::JobId old, schemas::JobId fresh, std::string traceparent,
             std::chrono::milliseconds deadline_after, Done<Submitted> done);

 private:
  Store& store_;
};

}  // namespace millrace::storage
