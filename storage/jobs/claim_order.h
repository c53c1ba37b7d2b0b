#pragma once
#include <list>
#include <optional>
#include <set>
#include <string>

#include "schemas/jobs/job.h"
#include "storage/jobs/job_claims.h"
#include "storage/sqlite/database.h"

// Inside storage: the claim order. Tenants take turns; within a tenant the order is priority, then age. But
// late parts of long documents alternate with all other jobs (docs/adr/0031).
namespace millrace::storage {

enum class CursorUse { kClaim = 0, kPublish = 1 };

// This many parts of a split document (or recording) are ordered by age; the parts after them are late.
inline constexpr int kChildrenByAge = 2;

// The tenant that was served last, stored in the table `turns`.
class TenantCursor {
 public:
  TenantCursor(Db& db, schemas::Kind kind, CursorUse use);
  const std::string& tenant() const { return tenant_; }  // empty: none yet
  void advance_to(std::string tenant) { tenant_ = std::move(tenant); }
  void save();

 private:
  Db& db_;
  schemas::Kind kind_;
  CursorUse use_;
  std::string started_after_, tenant_;
};

// Iterates over the first jobs of the tenants' queues of one kind. Each `next` is one seek in jobs_ready. If
// it finds a late part, it needs one more seek for each document that has a late part before the first job
// that is none. Starts after the tenant served last. The caller must remove each job that it gets from the
// queue (claim, end or publish it) before it calls `next` again.
class FairQueueCursor {
 public:
  FairQueueCursor(Db& db, schemas::Kind kind, CursorUse use)
      : db_(db), kind_(kind), use_(use), tenant_cursor_(db, kind, use) {}
  std::optional<base::Uuid> next();
  // Stores the tenant that was served last.
  void save() { tenant_cursor_.save(); }

 private:
  struct Head {
    std::string tenant;
    std::int64_t priority = 0;
    base::Uuid id;
    std::optional<base::Uuid> parent;
    int child_index = 0;
    bool is_late() const { return parent && child_index >= kChildrenByAge; }
  };
  std::optional<Head> first_after(const std::string& tenant);
  std::optional<Head> first_behind(const Head& head);
  base::Uuid late_child_or_other(const Head& late);
  std::optional<base::Uuid> first_not_late(Head head);
  bool was_passed_over(const std::string& tenant);
  void pass_over(const std::string& tenant);

  Db& db_;
  schemas::Kind kind_;
  CursorUse use_;
  TenantCursor tenant_cursor_;
};

// Inside storage: the claim order of kinds whose jobs run in lanes. Tenants take turns; within a tenant the
// order is priority, then age, among the lanes that are not full.

// Iterates over the tenants' queues of ready jobs for one claim. It first examines a tenant's first jobs in
// order. If they are all in full lanes, it examines the first job of each lane, so that the backlog of a full
// lane is not scanned: some lanes each time it is the tenant's turn. If a tenant has more lanes than one
// claim examines, each claim continues after the last lane of the previous one.
class LaneScheduler {
 public:
  struct Head {
    std::string lane;
    std::int64_t priority = 0;
    base::Uuid id;
    ClaimLanes::PermitPtr permit{};  // passed to the caller
  };

  // REQUIRES: kind_rules(kind).has_lanes. `lanes` outlives this.
  LaneScheduler(Db& db, schemas::Kind kind, ClaimLanes& lanes);
  // The next job. The caller must remove it from the queue (claim or end it) before it calls `next` again.
  std::optional<Head> next();
  // Stores the tenant that was served last.
  void save() { tenant_cursor_.save(); }

 private:
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
  void list_tenant();
  std::optional<std::string> tenant_after(const std::string& name);
  std::optional<Head> first_of(Tenant& tenant);
  std::optional<Head> first_by_age(Tenant& tenant);
  std::optional<Head> first_by_lane(Tenant& tenant);
  void switch_to_lanes(Tenant& tenant);
  void list_lanes(Tenant& tenant);
  std::optional<Head> next_lane(Tenant& tenant);
  std::optional<Head> lane_after(const std::string& tenant, const std::string& lane);
  std::optional<Head> head_of(const std::string& tenant, const std::string& lane);
  bool acquire_permit(Head& head);

  Db& db_;
  ClaimLanes& lanes_;
  TenantCursor tenant_cursor_;
  const std::string started_after_;
  std::string last_listed_ = started_after_;
  bool wrapped_ = false;
  bool all_listed_ = false;
  std::list<Tenant> tenants_;   // tenants that may have a claimable job; the next one first
  std::set<std::string> full_;  // lanes
  int examined_ = 0;
};

}  // namespace millrace::storage
