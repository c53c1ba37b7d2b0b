#include "storage/lane_turns.h"

#include <tuple>
#include <utility>

namespace millrace::storage {
namespace {

// Jobs of a tenant that are examined in order, before its lanes are.
constexpr int kJobsInOrder = 16;
// Lanes of a tenant that are examined before the next tenant's turn.
constexpr int kLanesAtOnce = 256;
// Jobs and lanes that one claim may examine without success, in addition to the first lanes of each tenant
// whose turn came.
constexpr int kLooksPerClaim = 1024;

// The partial index names this kind; statements must use the same literal.
static_assert(static_cast<int>(schemas::Kind::kChat) == 4);

LaneTurns::Head head_in(const Statement& s) {
  return {.lane = s.text(0), .priority = s.integer(1), .id = s.uuid(2)};
}

}  // namespace

bool LaneTurns::Before::operator()(const Head& one, const Head& other) const {
  return std::tie(other.priority, one.id) < std::tie(one.priority, other.id);
}

LaneTurns::LaneTurns(Db& db, schemas::Kind kind, ClaimLanes& lanes)
    : db_(db), lanes_(lanes), whose_(db, kind, TurnUse::kClaim), begun_after_(whose_.tenant()) {}

// The next claim continues after the last tenant that was examined.
std::optional<LaneTurns::Head> LaneTurns::next() {
  while (true) {
    list_tenant();
    if (tenants_.empty()) return std::nullopt;
    Tenant& tenant = tenants_.front();
    auto head = first_of(tenant);
    if (head || looks_ >= kLooksPerClaim) {
      whose_.served(tenant.name);
      tenants_.splice(tenants_.end(), tenants_, tenants_.begin());
      return head;
    }
    if (tenant.by_lanes && !tenant.all_listed) {
      tenants_.splice(tenants_.end(), tenants_, tenants_.begin());
    } else {
      tenants_.pop_front();
    }
  }
}

// Adds one tenant at a time; tenants that were not examined yet come before those that were.
void LaneTurns::list_tenant() {
  if (all_listed_) return;
  auto name = tenant_after(last_listed_);
  if (!name && !std::exchange(wrapped_, true)) name = tenant_after({});
  all_listed_ = !name || (wrapped_ && *name > begun_after_);
  if (all_listed_) return;
  last_listed_ = *name;
  tenants_.push_front({.name = std::move(*name)});
}

std::optional<std::string> LaneTurns::tenant_after(const std::string& name) {
  auto s = db_.prepare(
      "SELECT tenant FROM jobs INDEXED BY jobs_lanes WHERE status = 0 AND run_at = 0 AND kind = 4 "
      "AND tenant > ?1 ORDER BY tenant LIMIT 1");
  if (!s.bind(name).step()) return std::nullopt;
  return s.text(0);
}

std::optional<LaneTurns::Head> LaneTurns::first_of(Tenant& tenant) {
  if (!tenant.by_lanes) {
    if (auto head = first_by_age(tenant)) return head;
    if (!tenant.by_lanes) return std::nullopt;
  }
  return first_by_lane(tenant);
}

std::optional<LaneTurns::Head> LaneTurns::first_by_age(Tenant& tenant) {
  auto s = db_.prepare(
      "SELECT model, priority, id FROM jobs INDEXED BY jobs_ready WHERE status = 0 AND run_at = 0 "
      "AND kind = 4 AND tenant = ?1 ORDER BY priority DESC, id LIMIT ?2");
  s.bind(tenant.name, kJobsInOrder);
  int seen = 0;
  for (; s.step(); ++seen) {
    Head head = head_in(s);
    if (takes_place(head)) return head;
  }
  looks_ += seen;
  if (seen == kJobsInOrder) go_by_lanes(tenant);
  return std::nullopt;
}

std::optional<LaneTurns::Head> LaneTurns::first_by_lane(Tenant& tenant) {
  if (!tenant.taken.empty()) {
    auto head = head_of(tenant.name, std::exchange(tenant.taken, {}));
    if (head) tenant.heads.insert(std::move(*head));
  }
  if (tenant.heads.empty() && !tenant.all_listed && looks_ < kLooksPerClaim) list_lanes(tenant);
  while (!tenant.heads.empty()) {
    Head head = std::move(tenant.heads.extract(tenant.heads.begin()).value());
    if (!takes_place(head)) continue;
    tenant.taken = head.lane;
    return head;
  }
  return std::nullopt;
}

void LaneTurns::go_by_lanes(Tenant& tenant) {
  tenant.by_lanes = true;
  const auto cursor = lanes_.cursors().find(tenant.name);
  if (cursor != lanes_.cursors().end()) tenant.begun_behind = tenant.at = cursor->second;
  list_lanes(tenant);
}

void LaneTurns::list_lanes(Tenant& tenant) {
  for (int listed = 0; listed < kLanesAtOnce && !tenant.all_listed; ++listed, ++looks_) {
    if (auto head = next_lane(tenant)) tenant.heads.insert(std::move(*head));
  }
  if (tenant.all_listed) {
    lanes_.cursors().erase(tenant.name);
  } else {
    lanes_.cursors()[tenant.name] = tenant.at;
  }
}

std::optional<LaneTurns::Head> LaneTurns::next_lane(Tenant& tenant) {
  auto head = lane_after(tenant.name, tenant.at);
  if (!head && !std::exchange(tenant.wrapped, true)) head = lane_after(tenant.name, {});
  tenant.all_listed = !head || (tenant.wrapped && head->lane > tenant.begun_behind);
  if (tenant.all_listed) return std::nullopt;
  tenant.at = head->lane;
  return head;
}

std::optional<LaneTurns::Head> LaneTurns::lane_after(const std::string& tenant, const std::string& lane) {
  auto s = db_.prepare(
      "SELECT model, priority, id FROM jobs INDEXED BY jobs_lanes WHERE status = 0 AND run_at = 0 "
      "AND kind = 4 AND tenant = ?1 AND model > ?2 ORDER BY model, priority DESC, id LIMIT 1");
  if (!s.bind(tenant, lane).step()) return std::nullopt;
  return head_in(s);
}

std::optional<LaneTurns::Head> LaneTurns::head_of(const std::string& tenant, const std::string& lane) {
  auto s = db_.prepare(
      "SELECT model, priority, id FROM jobs INDEXED BY jobs_lanes WHERE status = 0 AND run_at = 0 "
      "AND kind = 4 AND tenant = ?1 AND model = ?2 ORDER BY priority DESC, id LIMIT 1");
  if (!s.bind(tenant, lane).step()) return std::nullopt;
  return head_in(s);
}

bool LaneTurns::takes_place(Head& head) {
  if (full_.contains(head.lane)) return false;
  head.place = lanes_.take(head.lane);
  if (!head.place) full_.insert(head.lane);
  return head.place != nullptr;
}

}  // namespace millrace::storage
