#pragma once
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schemas/job.h"
#include "storage/store.h"

namespace millrace::storage {

// The right to write about one attempt of a job: every write of a worker carries it (delivery.md, rule 6).
struct Lease {
  schemas::JobId job;
  int attempt = 0;
  base::Uuid token;
  friend bool operator==(const Lease&, const Lease&) = default;
};

// What bounds a worker's jobs lane by lane, a job's lane being its model, beside the slots: claims take no
// job of a lane that is full.
class ClaimLanes {
 public:
  // One job's, from its claim on. Given back with the last owner, at the latest. Thread-safe.
  class Place {
   public:
    virtual ~Place() = default;
    // The job has gone on to where it is counted by itself. Once is enough.
    virtual void leave() = 0;
  };
  using PlacePtr = std::shared_ptr<Place>;

  virtual ~ClaimLanes() = default;
  // Null: the lane is full. On the commit thread, inside of its transaction: ≤ 10 µs, and it must not call
  // the store. A claim whose transaction fails gives back what it took.
  virtual PlacePtr take(const std::string& lane) = 0;

  // Of tenants with more lanes than one claim looks at: the lane that was looked at last, by tenant. The
  // claims' own, on the commit thread.
  std::map<std::string, std::string>& cursors() { return cursors_; }

 private:
  std::map<std::string, std::string> cursors_;
};

// A job as its worker needs it.
struct Claimed {
  Lease lease;
  std::string tenant;
  std::string model;
  std::string spec;                  // as its kind packs it; read from its blob if it has one
  std::optional<BlobRef> spec_blob;  // set: `spec` is empty and the runner reads it
  bool spec_damaged = false;         // `spec` is empty; the job is to fail
  std::optional<BlobRef> input;      // own, or the parent's for a child
  schemas::Rerun rerun = schemas::Rerun::kAtLeastOnce;
  int crashes = 0, losses = 0;
  std::string traceparent;
  std::optional<schemas::JobId> parent;
  int child_index = 0;
  bool children_done = false;  // a parent, released by its last child: merge
  base::WallTime created_at{};
  base::WallTime deadline{};
  base::BootTime claimed_at{};   // what the lease counts from
  ClaimLanes::PlacePtr place{};  // in its lane, where claims are bounded so
};

// Tokens that wait in one partition of a kind's topic.
struct PartitionLag {
  int partition = 0;
  std::int64_t tokens = 0;
};

// One worker process, as the rows `workers` and `worker_slots` know it.
struct SlotReport {
  schemas::Kind kind;
  int slots = 0, used = 0;
  // What is free stays so: jobs there are, but in lanes that are full. Their tokens do not count as lost.
  bool kept_free = false;
  std::vector<PartitionLag> lags{};  // of this process's partitions; empty where nothing waits in a bus
};
struct WorkerReport {
  std::string worker;      // name, also of DATA/workers/<name>.lock
  base::Uuid incarnation;  // of this process
  std::string host, version;
  std::vector<SlotReport> slots;
};
struct HeartbeatReply {
  // Leases that are no longer ours: kill what runs under them. The same worker may hold a later one of the
  // job.
  std::vector<Lease> lost;
  std::vector<schemas::JobId> cancel;  // cancel requested: stop, then finish
  bool drain = false;                  // take nothing new (WorkerDrains)
};

// A token as a claim takes it: may be stale.
struct TokenHint {
  schemas::JobId job;
  std::int64_t epoch = 0;
};

// What a worker takes. Moves: never block, `done` on the announce thread.
class JobClaims {
 public:
  explicit JobClaims(Store& store) : store_(store) {}

  // Up to `count` jobs of the kind, queued and due, tenants in turn and within a tenant by priority then age
  // (Turns); those of `hints` first, unless their epoch is above the row's (rule 10). Raises attempt, writes
  // a random token and lease_until = boot + lease. A child is claimed only while its parent is waiting. Of a
  // kind that is paused (KindPauses) nothing is claimed, and a claim that may stand does. Jobs past their
  // deadline and children of an ended parent are never claimed: a claim that meets them ends them, those past
  // their deadline not within a minute after a clock jump or a start.
  struct Request {
    schemas::Kind kind;
    std::string worker;
    int count = 1;
    std::vector<TokenHint> hints{};
    bool hints_only = false;
    std::chrono::milliseconds lease{20'000};
    // Set: a claim that finds nothing stands until a job of its kind becomes ready in this process, and takes
    // it in the very transaction that makes it ready: one commit instead of two from the accept to the start.
    // True when it is asked again: it ends without a job.
    std::shared_ptr<const std::atomic<bool>> withdrawn{};
    // Of kinds with lanes (KindRules): null, and no lane is ever full.
    std::shared_ptr<ClaimLanes> lanes{};
  };
  void claim(Request request, Done<std::vector<Claimed>> done);
  // Asks all claims that stand again, for what became ready in other processes, has been withdrawn or lies in
  // a lane that is no longer full.
  void ask_standing();

  // One statement per worker: renews the leases named, writes the worker and slot rows, answers what was lost
  // and what is to be cancelled.
  void heartbeat(WorkerReport report, std::vector<Lease> leases, std::chrono::milliseconds lease,
                 Done<HeartbeatReply> done);
  // The worker ends in good order: its row goes. Leases must have been given back before.
  void retire(std::string worker, Done<bool> done);

 private:
  Store& store_;
};

// A cheap look on a reader before a token costs a write (rule 10): true if a claim may succeed.
base::Result<bool> may_claim(Store& store, const TokenHint& hint);

}  // namespace millrace::storage
