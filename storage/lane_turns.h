#pragma once
#include <list>
#include <optional>
#include <set>
#include <string>

#include "storage/job_claims.h"
#include "storage/sqlite.h"
#include "storage/turns.h"

// Inside storage: the claim order of kinds whose jobs run in lanes. Tenants take turns; within a tenant the
// order is priority, then age, among the lanes that are not full.
namespace millrace::storage {

// Iterates over the tenants' queues of ready jobs for one claim. It first examines a tenant's first jobs in
// order. If they are all in full lanes, it examines the first job of each lane, so that the backlog of a full
// lane is not scanned: some lanes each time it is the tenant's turn. If a tenant has more lanes than one
// claim examines, each claim continues after the last lane of the previous one.
class LaneTurns {
 public:
  struct Head {
    std::string lane;
    std::int64_t priority = 0;
    base::Uuid id;
    ClaimLanes::PlacePtr place{};  // passed to the caller
  };

  // REQUIRES: kind_rules(kind).has_lanes. `lanes` outlives this.
  LaneTurns(Db& db, schemas::Kind kind, ClaimLanes& lanes);
  // The next job. The caller must remove it from the queue (claim or end it) before it calls `next` again.
  std::optional<Head> next();
  // Stores the tenant that was served last.
  void save() { whose_.save(); }

 private:
  struct Before {
    bool operator()(const Head& one, const Head& other) const;
  };
  struct Tenant {
    std::string name;
    // Its first jobs are in full lanes: from now on its lanes are examined.
    bool by_lanes = false;
    std::string begun_behind{}, at{};  // lane names, in a cycle
    bool wrapped = false;
    bool all_listed = false;
    std::set<Head, Before> heads{};  // first jobs of the lanes listed so far
    std::string taken{};             // the lane of the last job taken; its next job is not in `heads` yet
  };
  void list_tenant();
  std::optional<std::string> tenant_after(const std::string& name);
  std::optional<Head> first_of(Tenant& tenant);
  std::optional<Head> first_by_age(Tenant& tenant);
  std::optional<Head> first_by_lane(Tenant& tenant);
  void go_by_lanes(Tenant& tenant);
  void list_lanes(Tenant& tenant);
  std::optional<Head> next_lane(Tenant& tenant);
  std::optional<Head> lane_after(const std::string& tenant, const std::string& lane);
  std::optional<Head> head_of(const std::string& tenant, const std::string& lane);
  bool takes_place(Head& head);

  Db& db_;
  ClaimLanes& lanes_;
  WhoseTurn whose_;
  const std::string begun_after_;
  std::string last_listed_ = begun_after_;
  bool wrapped_ = false;
  bool all_listed_ = false;
  std::list<Tenant> tenants_;   // tenants that may have a claimable job; the next one first
  std::set<std::string> full_;  // lanes
  int looks_ = 0;
};

}  // namespace millrace::storage
