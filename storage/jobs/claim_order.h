#pragma once
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "schemas/jobs/job.h"
#include "storage/db/db.h"
#include "storage/jobs/job_claims.h"
#include "storage/jobs/queue_positions.h"

// Inside storage: the claim order. The tenant that runs the fewest jobs of the kind goes first, and tenants
// that run equally many take turns (docs/adr/0044). Within a tenant the order is priority, then age. But late
// parts of long documents alternate with all other jobs (docs/adr/0031).
namespace millrace::storage {

enum class CursorUse { kClaim = 0, kPublish = 1 };

// Tenants that are compared before one of them is served. The next call begins after the tenant served last.
// Only tenants that run jobs are many, and they are no more than there are slots.
inline constexpr int kTenantsCompared = 64;

// A job that a claim may take.
struct QueuedJob {
  base::Uuid id;
  ClaimLanes::PermitPtr permit{};  // passed to the caller
};

// Which tenants a claim may serve next.
enum class Serve {
  kAll,
  kIdle,  // those that run no job of the kind
};

// The order in which one call serves the tenants with ready jobs of one kind. Begins after the tenant that
// was served last (table `turns`) and looks at no more tenants than it needs: one that runs nothing goes
// first. Tokens are published by turn alone: only claims decide what runs.
class TenantSelector {
 public:
  // The first tenant after `name` that has ready jobs: one seek.
  using TenantAfter = std::function<std::optional<std::string>(const std::string& name)>;

  TenantSelector(Db& db, schemas::Kind kind, CursorUse use, TenantAfter tenant_after);
  // The tenant that is served next; absent: none is left for this call.
  std::optional<std::string> current(Serve serve);
  // The next three are about `current`. It got a job.
  void served();
  // It is looked at again after all others.
  void defer();
  // It has no job for this call.
  void remove();
  // Stores the tenant that was served last.
  void save();

 private:
  using Place = std::tuple<int, std::int64_t, int>;  // deferred, running jobs, number
  void list_one();
  bool first_is_idle() const;
  std::int64_t running_jobs(const std::string& tenant);
  void move_first_to(Place place);

  Db& db_;
  schemas::Kind kind_;
  CursorUse use_;
  TenantAfter tenant_after_;
  std::string started_after_, last_served_, last_listed_;
  bool wrapped_ = false, all_listed_ = false;
  int number_ = 0;
  std::map<Place, std::string> tenants_;
};

// Iterates over the first jobs of the tenants' queues of one kind. Each tenant that is compared is one seek
// in jobs_ready, and so is each further job of a tenant. If `next` finds a late part, it needs one more seek
// for each document that has a late part before the first job that is none. The caller must remove each job
// that it gets from the queue (claim, end or publish it) before it calls `next` again.
class FairQueueCursor {
 public:
  FairQueueCursor(Db& db, schemas::Kind kind, CursorUse use);
  // For a claim on an engine with round trips.
  struct Shared {
    QueuePositions& positions;
    QueueReads& reads;
    int rows = 1;  // that one read of a queue returns
  };
  FairQueueCursor(Db& db, schemas::Kind kind, const Shared& shared);
  FairQueueCursor(const FairQueueCursor&) = delete;
  FairQueueCursor& operator=(const FairQueueCursor&) = delete;
  std::optional<QueuedJob> next(Serve serve = Serve::kAll);
  // The queues have changed otherwise than by taking the jobs that `next` returned.
  void forget_heads();
  // Stores the tenant that was served last.
  void save() { selector_.save(); }

 private:
  using Head = QueueHead;
  FairQueueCursor(Db& db, schemas::Kind kind, CursorUse use, const std::optional<Shared>& shared);
  std::optional<Head> first_after(const std::string& tenant);
  std::optional<Head> look_after(const std::string& tenant);
  std::optional<Head> take_head(const std::string& tenant);
  std::deque<Head>& fill(const std::string& tenant);
  std::optional<Head> first_between(const std::string& tenant, const std::optional<std::string>& other);
  std::deque<Head> read_queue(const std::string& tenant);
  std::deque<Head> read_queue_from(const std::string& tenant, const base::Uuid& first);
  std::deque<Head> all_of(Statement& s, const std::string& tenant);
  std::optional<Head> head_of(const std::string& tenant);
  void prefetch(const Head& head, std::optional<std::int64_t> spec);
  std::optional<Head> first_behind(const Head& head);
  base::Uuid late_child_or_other(const Head& late);
  std::optional<base::Uuid> first_not_late(Head head);
  bool was_passed_over(const std::string& tenant);
  void pass_over(const std::string& tenant);

  Db& db_;
  schemas::Kind kind_;
  CursorUse use_;
  const std::optional<Shared> shared_;
  std::map<std::string, Head> heads_;  // of tenants that were compared and not served yet
  TenantSelector selector_;
};

// Inside storage: the claim order of kinds whose jobs run in lanes: the same, among the lanes that are not
// full.

// Iterates over the tenants' queues of ready jobs for one claim. It first examines a tenant's first jobs in
// order. If they are all in full lanes, it examines the first job of each lane, so that the backlog of a full
// lane is not scanned: some lanes each time it is the tenant's turn. If a tenant has more lanes than one
// claim examines, each claim continues after the last lane of the previous one.
class LaneScheduler {
 public:
  // REQUIRES: kind_rules(kind).has_lanes. `lanes` outlives this.
  LaneScheduler(Db& db, schemas::Kind kind, ClaimLanes& lanes);
  LaneScheduler(const LaneScheduler&) = delete;
  LaneScheduler& operator=(const LaneScheduler&) = delete;
  // The next job. The caller must remove it from the queue (claim or end it) before it calls `next` again.
  std::optional<QueuedJob> next(Serve serve);
  void forget_heads() {}
  // Stores the tenant that was served last.
  void save() { selector_.save(); }

 private:
  struct Head {
    std::string lane;
    std::int64_t priority = 0;
    base::Uuid id;
    ClaimLanes::PermitPtr permit{};
  };
  struct ClaimsBefore {
    bool operator()(const Head& one, const Head& other) const;
  };
  struct Tenant {
    std::string name;
    // Its first jobs are in full lanes: from now on its lanes are examined.
    bool by_lanes = false;
    std::string first_lane{}, at{};  // lane names, in a cycle
    bool wrapped = false;
    bool all_listed = false;
    std::set<Head, ClaimsBefore> heads{};  // first jobs of the lanes listed so far
    std::string taken{};  // the lane of the last job taken; its next job is not in `heads` yet
  };
  static Head head_in(const Statement& s);
  std::optional<std::string> tenant_after(const std::string& name);
  std::optional<Head> first_of(Tenant& tenant);
  std::optional<Head> first_by_age(Tenant& tenant);
  std::optional<Head> first_by_lane(Tenant& tenant);
  void switch_to_lanes(Tenant& tenant);
  void list_lanes(Tenant& tenant);
  std::optional<Head> next_lane(Tenant& tenant);
  std::optional<Head> lane_after(const std::string& tenant, const std::string& lane);
  std::optional<Head> head_of(const std::string& tenant, const std::string& lane);
  bool acquire_permit(const std::string& tenant, Head& head);

  Db& db_;
  ClaimLanes& lanes_;
  TenantSelector selector_;
  std::map<std::string, Tenant> tenants_;
  std::set<std::pair<std::string, std::string>> full_;  // tenant, lane
  int examined_ = 0;
};

}  // namespace millrace::storage
