#pragma once
#include <list>
#include <optional>
#include <set>
#include <string>

#include "storage/job_claims.h"
#include "storage/sqlite.h"
#include "storage/turns.h"

// Inside storage: the claim order of kinds whose jobs run in lanes. Tenants in turn, and within a tenant
// priority, then age, among the lanes that are not full.
namespace millrace::storage {

// One claim's walk over the tenants' queues of ready jobs. A tenant's first jobs are looked at in their
// order; if all of them lie in full lanes, the heads of its lanes are, so that no backlog of a full lane is
// walked: some lanes each time that it is the tenant's turn. Of a tenant with more lanes than one claim looks
// at, each claim looks at those behind the last one's.
class LaneTurns {
 public:
  struct Head {
    std::string lane;
    std::int64_t priority = 0;
    base::Uuid id;
    ClaimLanes::PlacePtr place{};  // the caller's
  };

  // REQUIRES: kind_rules(kind).has_lanes. `lanes` outlives this.
  LaneTurns(Db& db, schemas::Kind kind, ClaimLanes& lanes);
  // Whose turn it is. The caller must take the job out of the queue (claim or end it) before it asks for the
  // next.
  std::optional<Head> next();
  // Remembers whose turn it was.
  void save() { whose_.save(); }

 private:
  struct Before {
    bool operator()(const Head& one, const Head& other) const;
  };
  struct Tenant {
    std::string name;
    // Its first jobs lie in full lanes: from here on its lanes are looked at.
    bool by_lanes = false;
    std::string begun_behind{}, at{};  // the names of the lanes, all around
    bool wrapped = false;
    bool all_listed = false;
    std::set<Head, Before> heads{};  // of lanes that were listed
    std::string taken{};             // the lane of the last job: its head is not among them
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
  std::list<Tenant> tenants_;   // that may have something, the next one first
  std::set<std::string> full_;  // lanes
  int looks_ = 0;
};

}  // namespace millrace::storage
