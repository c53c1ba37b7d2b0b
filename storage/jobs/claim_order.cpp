#include "storage/jobs/claim_order.h"

#include <algorithm>
#include <climits>
#include <tuple>
#include <utility>

#include "storage/jobs/job_rows.h"
#include "storage/jobs/payload_rows.h"
#include "storage/jobs/queue_positions.h"
#include "storage/sql.h"
#include "storage/tenants/reservations.h"

namespace millrace::storage {
namespace {

// Long documents of one tenant that one call skips; after so many, the oldest part is taken.
constexpr int kParentsExaminedMax = 256;

// Parts get ascending ids, one directly after the other, so the last part's id is above all of them.
base::Uuid last_child(Db& db, const base::Uuid& parent) {
  auto s = db.prepare("SELECT id FROM jobs WHERE parent_id = ?1 ORDER BY child_index DESC LIMIT 1");
  s.bind(parent).step();
  return s.uuid(0);
}

}  // namespace

TenantSelector::TenantSelector(Db& db, schemas::Kind kind, CursorUse use, TenantAfter tenant_after)
    : db_(db), kind_(kind), use_(use), tenant_after_(std::move(tenant_after)) {
  auto s = db_.prepare("SELECT tenant FROM turns WHERE kind = ?1 AND use = ?2");
  if (s.bind(kind_, use_).step()) started_after_ = last_served_ = last_listed_ = s.text(0);
}

std::optional<std::string> TenantSelector::current(Serve serve) {
  // The reserved slots are for tenants that run nothing, however many others come before them.
  const int most = serve == Serve::kIdle ? INT_MAX : kTenantsCompared;
  for (int compared = 0; !all_listed_ && compared < most && !first_is_idle(); ++compared) list_one();
  if (tenants_.empty()) return std::nullopt;
  const std::string& first = tenants_.begin()->second;
  if (serve == Serve::kIdle && running_jobs(first) > 0) return std::nullopt;
  return first;
}

bool TenantSelector::first_is_idle() const {
  if (tenants_.empty()) return false;
  const auto& [deferred, running, number] = tenants_.begin()->first;
  return deferred == 0 && running == 0;
}

// A tenant that waits alone is not compared with any other, so its jobs are not counted.
void TenantSelector::list_one() {
  auto name = tenant_after_(last_listed_);
  if (!name && !std::exchange(wrapped_, true)) name = tenant_after_({});
  all_listed_ = !name || (wrapped_ && *name >= started_after_);
  if (!name || (wrapped_ && *name > started_after_)) return;
  last_listed_ = *name;
  const bool is_alone = all_listed_ && tenants_.empty();
  const std::int64_t running = is_alone || use_ == CursorUse::kPublish ? 0 : running_jobs(*name);
  tenants_.emplace(Place{0, running, ++number_}, std::move(*name));
}

std::int64_t TenantSelector::running_jobs(const std::string& tenant) {
  auto s = db_.prepare(R"(
      SELECT count(*) FROM jobs INDEXED BY jobs_running
      WHERE status = {running} AND kind = ?1 AND tenant = ?2)"_sql);
  s.bind(kind_, tenant).step();
  return s.integer(0);
}

void TenantSelector::served() {
  const auto& [deferred, running, number] = tenants_.begin()->first;
  last_served_ = tenants_.begin()->second;
  move_first_to({deferred, running + 1, ++number_});
}

void TenantSelector::defer() {
  const auto& [deferred, running, number] = tenants_.begin()->first;
  move_first_to({deferred + 1, running, ++number_});
}

void TenantSelector::move_first_to(Place place) {
  auto first = tenants_.extract(tenants_.begin());
  first.key() = place;
  tenants_.insert(std::move(first));
}

void TenantSelector::remove() { tenants_.erase(tenants_.begin()); }

void TenantSelector::save() {
  if (last_served_ == started_after_) return;
  db_.prepare(R"(
      INSERT INTO turns (kind, use, tenant) VALUES (?1, ?2, ?3)
      ON CONFLICT (kind, use) DO UPDATE SET tenant = excluded.tenant)"_sql)
      .bind(kind_, use_, last_served_)
      .run();
}

FairQueueCursor::FairQueueCursor(Db& db, schemas::Kind kind, CursorUse use)
    : FairQueueCursor(db, kind, use, std::nullopt) {}

FairQueueCursor::FairQueueCursor(Db& db, schemas::Kind kind, const Shared& shared)
    : FairQueueCursor(db, kind, CursorUse::kClaim, std::optional(shared)) {}

FairQueueCursor::FairQueueCursor(Db& db, schemas::Kind kind, CursorUse use,
                                 const std::optional<Shared>& shared)
    : db_(db),
      kind_(kind),
      use_(use),
      shared_(shared),
      selector_(db, kind, use, [this](const std::string& name) {
        auto head = first_after(name);
        return head ? std::optional(heads_.insert_or_assign(head->tenant, *head).first->first) : std::nullopt;
      }) {}

std::optional<QueuedJob> FairQueueCursor::next(Serve serve) {
  while (const auto tenant = selector_.current(serve)) {
    const auto head = head_of(*tenant);
    if (!head) {
      selector_.remove();
      continue;
    }
    selector_.served();
    return QueuedJob{head->is_late() ? late_child_or_other(*head) : head->id};
  }
  return std::nullopt;
}

void FairQueueCursor::forget_heads() {
  if (shared_) shared_->reads.clear();
}

std::optional<FairQueueCursor::Head> FairQueueCursor::first_after(const std::string& tenant) {
  if (!shared_) return first_between(tenant, std::nullopt);
  QueueReads& reads = shared_->reads;
  if (const auto known = reads.tenant_after.find(tenant); known != reads.tenant_after.end()) {
    if (!known->second) return std::nullopt;
    const auto& queue = reads.queues[*known->second];
    if (!queue.empty()) return queue.front();
    reads.tenant_after.clear();  // it may have no job left
  }
  auto head = look_after(tenant);
  reads.tenant_after[tenant] = head ? std::optional(head->tenant) : std::nullopt;
  return head;
}

// Tenants that have a position are looked up there; the index is searched only between them.
std::optional<FairQueueCursor::Head> FairQueueCursor::look_after(const std::string& tenant) {
  for (std::string from = tenant;;) {
    auto known = shared_->positions.tenant_after(kind_, from);
    auto head = first_between(from, known);
    if (!head && !known) return std::nullopt;
    const std::string& found = head ? head->tenant : *known;
    if (const auto& queue = fill(found); !queue.empty()) return queue.front();
    from = found;
  }
}

// The tenant's queue, read if nothing of it is left.
std::deque<QueueHead>& FairQueueCursor::fill(const std::string& tenant) {
  std::deque<Head>& queue = shared_->reads.queues[tenant];
  if (queue.empty()) queue = read_queue(tenant);
  return queue;
}

// Skips published jobs: they are at the front of the queues, and there are never more than the window allows.
// `other`: a tenant whose queue is not looked at, nor are those behind it.
std::optional<FairQueueCursor::Head> FairQueueCursor::first_between(const std::string& tenant,
                                                                    const std::optional<std::string>& other) {
  auto s = other ? db_.prepare(R"(
      SELECT tenant, priority, id, parent_id, child_index FROM jobs INDEXED BY jobs_ready
      WHERE status = {queued} AND run_at = 0 AND kind = ?1 AND tenant > ?2
          AND (?3 = 0 OR published_at = 0) AND tenant < ?4
      ORDER BY tenant, priority DESC, id LIMIT 1)"_sql)
                 : db_.prepare(R"(
      SELECT tenant, priority, id, parent_id, child_index FROM jobs INDEXED BY jobs_ready
      WHERE status = {queued} AND run_at = 0 AND kind = ?1 AND tenant > ?2
          AND (?3 = 0 OR published_at = 0)
      ORDER BY tenant, priority DESC, id LIMIT 1)"_sql);
  s.bind(kind_, tenant, use_);
  if (other) s.bind(*other);
  if (!s.step()) return std::nullopt;
  return Head{s.text(0), s.integer(1), s.uuid(2), s.optional_uuid(3), static_cast<int>(s.integer(4))};
}

std::optional<FairQueueCursor::Head> FairQueueCursor::head_of(const std::string& tenant) {
  if (shared_) return take_head(tenant);
  if (auto listed = heads_.extract(tenant)) return std::move(listed.mapped());
  auto s = db_.prepare(R"(
      SELECT priority, id, parent_id, child_index FROM jobs INDEXED BY jobs_ready
      WHERE status = {queued} AND run_at = 0 AND kind = ?1 AND tenant = ?2
          AND (?3 = 0 OR published_at = 0)
      ORDER BY priority DESC, id LIMIT 1)"_sql);
  if (!s.bind(kind_, tenant, use_).step()) return std::nullopt;
  return Head{tenant, s.integer(0), s.uuid(1), s.optional_uuid(2), static_cast<int>(s.integer(3))};
}

std::optional<FairQueueCursor::Head> FairQueueCursor::take_head(const std::string& tenant) {
  std::deque<Head>& queue = fill(tenant);
  if (queue.empty()) {
    shared_->reads.tenant_after.clear();
    return std::nullopt;
  }
  Head first = std::move(queue.front());
  queue.pop_front();
  return first;
}

// The first rows of a tenant's queue.
std::deque<QueueHead> FairQueueCursor::read_queue(const std::string& tenant) {
  const auto known = shared_->positions.of(kind_, tenant);
  std::deque<Head> queue;
  if (known) queue = read_queue_from(tenant, *known);
  if (known && queue.empty()) {
    auto s = db_.prepare(R"(
        SELECT priority, id, parent_id, child_index, spec FROM jobs
        WHERE status = {queued} AND run_at = 0 AND kind = ?1 AND tenant = ?2 AND priority < 0
        ORDER BY priority DESC, id LIMIT ?3)"_sql);
    s.bind(kind_, tenant, shared_->rows);
    queue = all_of(s, tenant);
  } else if (queue.empty()) {
    auto s = db_.prepare(R"(
        SELECT priority, id, parent_id, child_index, spec FROM jobs
        WHERE status = {queued} AND run_at = 0 AND kind = ?1 AND tenant = ?2
        ORDER BY priority DESC, id LIMIT ?3)"_sql);
    s.bind(kind_, tenant, shared_->rows);
    queue = all_of(s, tenant);
  }
  const bool has_first = !queue.empty() && queue.front().priority == 0;
  shared_->positions.read(kind_, tenant, static_cast<int>(queue.size()),
                          has_first ? std::optional(queue.front().id) : std::nullopt);
  return queue;
}

std::deque<QueueHead> FairQueueCursor::read_queue_from(const std::string& tenant, const base::Uuid& first) {
  auto s = db_.prepare(R"(
      SELECT priority, id, parent_id, child_index, spec FROM jobs
      WHERE status = {queued} AND run_at = 0 AND kind = ?1 AND tenant = ?2 AND priority = 0 AND id >= ?3
      ORDER BY id LIMIT ?4)"_sql);
  s.bind(kind_, tenant, first, shared_->rows);
  return all_of(s, tenant);
}

std::deque<QueueHead> FairQueueCursor::all_of(Statement& s, const std::string& tenant) {
  std::deque<Head> queue;
  while (s.step()) {
    queue.push_back({tenant, s.integer(0), s.uuid(1), s.optional_uuid(2), static_cast<int>(s.integer(3))});
    prefetch(queue.back(), s.optional_integer(4));
  }
  return queue;
}

// What a claim reads of a job.
void FairQueueCursor::prefetch(const Head& head, std::optional<std::int64_t> spec) {
  prefetch_job(db_, head.id);
  prefetch_reservation(db_, head.id);
  if (spec) prefetch_spec(db_, *spec);
  if (!head.parent) return;
  prefetch_job(db_, *head.parent);
  prefetch_reservation(db_, *head.parent);
}

std::optional<FairQueueCursor::Head> FairQueueCursor::first_behind(const Head& head) {
  auto s = db_.prepare(R"(
      SELECT id, parent_id, child_index FROM jobs INDEXED BY jobs_ready
      WHERE status = {queued} AND run_at = 0 AND kind = ?1 AND tenant = ?2 AND priority = ?3
          AND id > ?4 AND (?5 = 0 OR published_at = 0)
      ORDER BY id LIMIT 1)"_sql);
  const base::Uuid behind = std::max(head.id, last_child(db_, *head.parent));
  if (!s.bind(kind_, head.tenant, head.priority, behind, use_).step()) return std::nullopt;
  return Head{head.tenant, head.priority, s.uuid(0), s.optional_uuid(1), static_cast<int>(s.integer(2))};
}

// Other jobs go first, so that a document without competition costs no write. A late part that was passed
// over goes next.
base::Uuid FairQueueCursor::late_child_or_other(const Head& late) {
  if (was_passed_over(late.tenant)) return late.id;
  const auto other = first_not_late(late);
  if (!other) return late.id;
  pass_over(late.tenant);
  if (shared_) shared_->reads.queues.erase(late.tenant);  // the late part is still the first one
  return *other;
}

std::optional<base::Uuid> FairQueueCursor::first_not_late(Head head) {
  for (int documents = 0; documents < kParentsExaminedMax; ++documents) {
    auto next = first_behind(head);
    if (!next) return std::nullopt;
    if (!next->is_late()) return next->id;
    head = std::move(*next);
  }
  return std::nullopt;
}

// True once after a part was passed over: it is taken now.
bool FairQueueCursor::was_passed_over(const std::string& tenant) {
  auto s = db_.prepare("DELETE FROM passed_over WHERE kind = ?1 AND use = ?2 AND tenant = ?3");
  s.bind(kind_, use_, tenant).run();
  return s.changes() == 1;
}

void FairQueueCursor::pass_over(const std::string& tenant) {
  db_.prepare("INSERT INTO passed_over (kind, use, tenant) VALUES (?1, ?2, ?3)")
      .bind(kind_, use_, tenant)
      .run();
}

namespace {

// Jobs of a tenant that are examined in order, before its lanes are.
constexpr int kJobsByAgeMax = 16;
// Lanes of a tenant that are examined before the next tenant's turn.
constexpr int kLanesPerRound = 256;
// Jobs and lanes that one claim may examine without success, in addition to the first lanes of each tenant
// whose turn came.
constexpr int kExaminedPerClaim = 1024;

// The partial index names this kind; statements must use the same literal.
static_assert(static_cast<int>(schemas::Kind::kChat) == 4);

}  // namespace

LaneScheduler::Head LaneScheduler::head_in(const Statement& s) {
  return {.lane = s.text(0), .priority = s.integer(1), .id = s.uuid(2)};
}

bool LaneScheduler::ClaimsBefore::operator()(const Head& one, const Head& other) const {
  return std::tie(other.priority, one.id) < std::tie(one.priority, other.id);
}

LaneScheduler::LaneScheduler(Db& db, schemas::Kind kind, ClaimLanes& lanes)
    : db_(db),
      lanes_(lanes),
      selector_(db, kind, CursorUse::kClaim, [this](const std::string& name) { return tenant_after(name); }) {
}

// The next claim continues after the last tenant that was examined.
std::optional<QueuedJob> LaneScheduler::next(Serve serve) {
  while (const auto name = selector_.current(serve)) {
    Tenant& tenant = tenants_.try_emplace(*name, Tenant{.name = *name}).first->second;
    auto head = first_of(tenant);
    if (head || examined_ >= kExaminedPerClaim) {
      selector_.served();
      return head ? std::optional(QueuedJob{head->id, std::move(head->permit)}) : std::nullopt;
    }
    tenant.by_lanes && !tenant.all_listed ? selector_.defer() : selector_.remove();
  }
  return std::nullopt;
}

std::optional<std::string> LaneScheduler::tenant_after(const std::string& name) {
  auto s = db_.prepare(R"(
      SELECT tenant FROM jobs INDEXED BY jobs_lanes
      WHERE status = {queued} AND run_at = 0 AND kind = {chat} AND tenant > ?1
      ORDER BY tenant LIMIT 1)"_sql);
  if (!s.bind(name).step()) return std::nullopt;
  return s.text(0);
}

std::optional<LaneScheduler::Head> LaneScheduler::first_of(Tenant& tenant) {
  if (!tenant.by_lanes) {
    if (auto head = first_by_age(tenant)) return head;
    if (!tenant.by_lanes) return std::nullopt;
  }
  return first_by_lane(tenant);
}

std::optional<LaneScheduler::Head> LaneScheduler::first_by_age(Tenant& tenant) {
  auto s = db_.prepare(R"(
      SELECT model, priority, id FROM jobs INDEXED BY jobs_ready
      WHERE status = {queued} AND run_at = 0 AND kind = {chat} AND tenant = ?1
      ORDER BY priority DESC, id LIMIT ?2)"_sql);
  s.bind(tenant.name, kJobsByAgeMax);
  int seen = 0;
  for (; s.step(); ++seen) {
    Head head = head_in(s);
    if (acquire_permit(tenant.name, head)) return head;
  }
  examined_ += seen;
  if (seen == kJobsByAgeMax) switch_to_lanes(tenant);
  return std::nullopt;
}

std::optional<LaneScheduler::Head> LaneScheduler::first_by_lane(Tenant& tenant) {
  if (!tenant.taken.empty()) {
    auto head = head_of(tenant.name, std::exchange(tenant.taken, {}));
    if (head) tenant.heads.insert(std::move(*head));
  }
  if (tenant.heads.empty() && !tenant.all_listed && examined_ < kExaminedPerClaim) list_lanes(tenant);
  while (!tenant.heads.empty()) {
    Head head = std::move(tenant.heads.extract(tenant.heads.begin()).value());
    if (!acquire_permit(tenant.name, head)) continue;
    tenant.taken = head.lane;
    return head;
  }
  return std::nullopt;
}

void LaneScheduler::switch_to_lanes(Tenant& tenant) {
  tenant.by_lanes = true;
  const auto cursor = lanes_.cursors().find(tenant.name);
  if (cursor != lanes_.cursors().end()) tenant.first_lane = tenant.at = cursor->second;
  list_lanes(tenant);
}

void LaneScheduler::list_lanes(Tenant& tenant) {
  for (int listed = 0; listed < kLanesPerRound && !tenant.all_listed; ++listed, ++examined_) {
    if (auto head = next_lane(tenant)) tenant.heads.insert(std::move(*head));
  }
  if (tenant.all_listed) {
    lanes_.cursors().erase(tenant.name);
  } else {
    lanes_.cursors()[tenant.name] = tenant.at;
  }
}

std::optional<LaneScheduler::Head> LaneScheduler::next_lane(Tenant& tenant) {
  auto head = lane_after(tenant.name, tenant.at);
  if (!head && !std::exchange(tenant.wrapped, true)) head = lane_after(tenant.name, {});
  tenant.all_listed = !head || (tenant.wrapped && head->lane > tenant.first_lane);
  if (tenant.all_listed) return std::nullopt;
  tenant.at = head->lane;
  return head;
}

std::optional<LaneScheduler::Head> LaneScheduler::lane_after(const std::string& tenant,
                                                             const std::string& lane) {
  auto s = db_.prepare(R"(
      SELECT model, priority, id FROM jobs INDEXED BY jobs_lanes
      WHERE status = {queued} AND run_at = 0 AND kind = {chat} AND tenant = ?1 AND model > ?2
      ORDER BY model, priority DESC, id LIMIT 1)"_sql);
  if (!s.bind(tenant, lane).step()) return std::nullopt;
  return head_in(s);
}

std::optional<LaneScheduler::Head> LaneScheduler::head_of(const std::string& tenant,
                                                          const std::string& lane) {
  auto s = db_.prepare(R"(
      SELECT model, priority, id FROM jobs INDEXED BY jobs_lanes
      WHERE status = {queued} AND run_at = 0 AND kind = {chat} AND tenant = ?1 AND model = ?2
      ORDER BY priority DESC, id LIMIT 1)"_sql);
  if (!s.bind(tenant, lane).step()) return std::nullopt;
  return head_in(s);
}

bool LaneScheduler::acquire_permit(const std::string& tenant, Head& head) {
  const std::pair lane(tenant, head.lane);
  if (full_.contains(lane)) return false;
  head.permit = lanes_.take(head.lane, tenant);
  if (!head.permit) full_.insert(lane);
  return head.permit != nullptr;
}

}  // namespace millrace::storage
