#pragma once
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schemas/jobs/job.h"
#include "storage/store.h"

namespace millrace::storage {

// The right to report on one attempt of a job. Every write of a worker carries it (docs/design/delivery.md
// §2, rule 6).
struct Lease {
  schemas::JobId job;
  int attempt = 0;
  base::Uuid token;
  friend bool operator==(const Lease&, const Lease&) = default;
};

// Limits a worker's jobs per lane, in addition to its slots. A job's lane is its model. Claims skip jobs of
// full lanes.
class ClaimLanes {
 public:
  // The permit of one job, from its claim on. It is returned with its last owner at the latest. Thread-safe.
  class Permit {
   public:
    virtual ~Permit() = default;
    // Returns the permit early, when the job has reached a stage that limits it by other means. May be called
    // more than once.
    virtual void leave() = 0;
  };
  using PermitPtr = std::shared_ptr<Permit>;

  virtual ~ClaimLanes() = default;
  // Null: the lane is full for the tenant. Runs on the commit thread inside the transaction: at most 10 µs,
  // and it must not call the store. If the claim's transaction fails, the permits are returned.
  virtual PermitPtr take(const std::string& lane, const std::string& tenant) = 0;

  // For tenants with more lanes than one claim examines: the last lane that was examined, by tenant. Used
  // only by claims, on the commit thread.
  std::map<std::string, std::string>& cursors() { return cursors_; }

 private:
  std::map<std::string, std::string> cursors_;
};

// A claimed job with the data that its worker needs.
struct ClaimedJob {
  Lease lease;
  std::string tenant;
  std::string model;
  std::string spec;                  // in the encoding of its kind; empty if `spec_blob` is set
  std::optional<BlobRef> spec_blob;  // set: the runner reads the spec from this blob
  bool spec_damaged = false;         // the stored spec is damaged: `spec` is empty and the job must fail
  std::optional<BlobRef> input;      // the job's own input, or the parent's for a child
  schemas::Rerun rerun = schemas::Rerun::kAtLeastOnce;
  int crashes = 0, losses = 0;
  std::string traceparent;
  std::optional<schemas::JobId> parent;
  int child_index = 0;
  bool children_done = false;  // a parent whose children have all ended: the next step is the merge
  base::WallTime queued_at{};  // since when it waits: its creation, or its run_at
  base::WallTime deadline{};
  base::BootTime claimed_at{};     // start of the lease, by the boot clock of this host
  bool has_budget = false;         // its calls are paid from a reservation (JobOutcomes::call)
  ClaimLanes::PermitPtr permit{};  // its permit, if claims are limited by lanes
};

// One worker process, as stored in `workers` and `worker_slots`.
struct SlotReport {
  schemas::Kind kind;
  int slots = 0, used = 0;
  // The free slots stay free because all waiting jobs are in full lanes. Slots left idle by full lanes do not
  // trigger republishing.
  bool blocked_by_lanes = false;
  std::vector<schemas::PartitionLag> lags{};  // of this process's partitions; empty without a message bus
};
struct WorkerReport {
  std::string worker;      // the name, also in DATA/workers/<name>.lock
  base::Uuid incarnation;  // of this process
  std::string host, version;
  std::vector<SlotReport> slots;
};
struct HeartbeatReply {
  // Leases that the worker no longer holds: it must kill what runs under them. The same worker may hold a
  // later lease of the same job.
  std::vector<Lease> lost;
  std::vector<schemas::JobId> cancel;  // cancel requested: stop the job, then report its end
  bool drain = false;                  // claim no new jobs (WorkerDrains)
};

// Claims and heartbeats of workers. Writes: never block; `done` runs on the completion thread.
class JobClaims {
 public:
  explicit JobClaims(Store& store) : store_(store) {}

  // Claims up to `count` queued and due jobs of the kind, and up to `reserved_slots` more of tenants that run
  // no job of the kind. The tenant that runs the fewest jobs of the kind goes first, and tenants that run
  // equally many take turns; within a tenant the order is priority, then age (FairQueueCursor,
  // docs/adr/0044). A claim increments attempt, writes a random token and sets lease_until = boot + lease. A
  // child is claimed only while its parent is waiting. A claim of a paused kind (KindPauses) finds nothing;
  // it is parked if `withdrawn` is set. Jobs past their deadline and children of an ended parent are never
  // claimed; a claim that finds them ends them. After a clock jump or a start, jobs past their deadline are
  // not ended for one minute.
  struct Request {
    schemas::Kind kind;
    std::string worker;
    int count = 1;
    int reserved_slots = 0;
    std::chrono::milliseconds lease{20'000};
    // Set: a claim that finds nothing is parked until a job of its kind becomes ready in this process. It
    // then claims the job in the transaction that makes it ready: one commit instead of two from accept to
    // start. If the value is true when the claim runs again, it ends without a job. A claim for reserved
    // slots alone runs after the others.
    std::shared_ptr<const std::atomic<bool>> withdrawn{};
    // For kinds with lanes (KindRules). Null: no lane is limited.
    std::shared_ptr<ClaimLanes> lanes{};
  };
  void claim(Request request, Callback<std::vector<ClaimedJob>> done);
  // Runs all parked claims again: for jobs that became ready in other processes, for withdrawn claims, and
  // for lanes that are no longer full.
  void retry_parked_claims();

  // Renews the given leases, writes the worker and slot rows, and returns lost leases and cancel requests.
  // One write per worker. kInvalidState: a living worker on another host has the name (check_worker_name).
  void heartbeat(WorkerReport report, std::vector<Lease> leases, std::chrono::milliseconds lease,
                 Callback<HeartbeatReply> done);
  // The worker shuts down normally: deletes its row. REQUIRES: it holds no leases any more.
  void retire(std::string worker, Callback<bool> done);

 private:
  Store& store_;
};

// A cheap check on a reader connection, made before a token or a hint causes a write (rule 10). False: no job
// of the kind is ready for this host, or the kind is paused.
base::Result<bool> has_ready_jobs(Store& store, schemas::Kind kind);

}  // namespace millrace::storage
