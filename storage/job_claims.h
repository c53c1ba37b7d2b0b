#pragma once
#include <atomic>
#include <cstdint>
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

// A job as its worker needs it.
struct Claimed {
  Lease lease;
  std::string tenant;
  std::string model;
  std::string spec;                  // JSON; read from its blob if it has one
  std::optional<BlobRef> spec_blob;  // set: `spec` is empty and the runner reads it
  std::optional<BlobRef> input;      // own, or the parent's for a child
  schemas::Rerun rerun = schemas::Rerun::kAtLeastOnce;
  int crashes = 0, losses = 0;
  std::string traceparent;
  std::optional<schemas::JobId> parent;
  int child_index = 0;
  bool children_done = false;  // a parent, released by its last child: merge
  base::WallTime created_at{};
  base::WallTime deadline{};
  base::BootTime claimed_at{};  // what the lease counts from
};

// One worker process, as the rows `workers` and `worker_slots` know it.
struct SlotReport {
  schemas::Kind kind;
  int slots = 0, used = 0;
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

  // Up to `count` jobs of the kind, queued and due, tenants in turn and within a tenant by priority then age;
  // those of `hints` first, unless their epoch is above the row's (rule 10). Raises attempt, writes a random
  // token and lease_until = boot + lease. A child is claimed only while its parent is waiting. Jobs past
  // their deadline and children of an ended parent are never claimed: a claim that meets them ends them.
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
  };
  void claim(Request request, Done<std::vector<Claimed>> done);
  // Asks all claims that stand again, for what became ready in other processes or has been withdrawn.
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
