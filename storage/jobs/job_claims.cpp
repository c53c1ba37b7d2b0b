#include "storage/jobs/job_claims.h"

#include <algorithm>
#include <string>
#include <utility>

#include "storage/jobs/claim_order.h"
#include "storage/jobs/host_queue.h"
#include "storage/jobs/job_rows.h"
#include "storage/jobs/job_transitions.h"
#include "storage/jobs/kind_pauses.h"
#include "storage/jobs/kind_rules.h"
#include "storage/jobs/maintenance_steps.h"
#include "storage/jobs/payload_rows.h"
#include "storage/jobs/queue_positions.h"
#include "storage/sql.h"
#include "storage/tenants/reservations.h"
#include "storage/workers/workers.h"
#include "storage/writer/readers.h"

namespace millrace::storage {
namespace {

using schemas::JobStatus;

constexpr std::size_t kClaimBytes = 512;
// A claim ends the jobs that it finds but cannot claim (past their deadline, or children of an ended parent),
// so that a queue full of them is not scanned twice. At most this many per claim. While the clocks cannot be
// trusted, an overdue job stays in the queue and is found again at its tenant's next turn.
constexpr int kUnclaimablePerClaim = 64;
constexpr int kRowsReadMax = 256;  // of a queue, at once

// Of a part of a job.
constexpr Sql kClaimChild = R"(
      UPDATE jobs SET status = {running}, attempt = attempt + 1, token = ?2, worker = ?3,
          lease_boot = ?4, lease_until = ?5, started_at = coalesce(started_at, ?6), published_at = 0,
          run_at = 0
      WHERE id = ?1 AND status = {queued} AND cancel_requested = 0 AND run_at <= ?6
          AND deadline - jumped_ms > ?7
          AND EXISTS (SELECT 1 FROM jobs AS p WHERE p.id = jobs.parent_id AND p.status = {waiting}))"_sql;
// Of a root job.
constexpr Sql kClaimRoot = R"(
      UPDATE jobs SET status = {running}, attempt = attempt + 1, token = ?2, worker = ?3,
          lease_boot = ?4, lease_until = ?5, started_at = coalesce(started_at, ?6), published_at = 0,
          run_at = 0, version = version + 1
      WHERE id = ?1 AND status = {queued} AND cancel_requested = 0 AND run_at <= ?6
          AND deadline - jumped_ms > ?7 AND parent_id IS NULL)"_sql;

void update_claimed(Tx& tx, const JobClaims::Request& request, const JobRow& row, const base::Uuid& token) {
  auto s = tx.db.prepare(row.parent ? kClaimChild : kClaimRoot);
  s.bind(row.id, token, request.worker, boot_number(tx.boot_id), base::millis(tx.boot + request.lease),
         base::millis(tx.now), base::millis(tx.steady()))
      .run();
  expect_one_change(s, "claim");
}

// `parent`: of the row, if it has one.
bool may_be_claimed(const Tx& tx, const JobRow& row, const std::optional<JobRow>& parent) {
  if (row.parent && (!parent || parent->status != JobStatus::kWaiting)) return false;
  return row.status == JobStatus::kQueued && !row.cancel_requested && row.run_at <= base::millis(tx.now) &&
         row.steady_deadline() > base::millis(tx.steady());
}

ClaimedJob claimed_job(const Tx& tx, const JobRow& row, const std::optional<JobRow>& parent) {
  Db& db = tx.db;
  ClaimedJob claimed;
  claimed.lease = {row.job(), row.attempt, *row.token};
  claimed.tenant = row.tenant;
  claimed.model = row.model;
  if (auto spec = find_spec(db, row.spec)) {
    claimed.spec = std::move(spec->payload.bytes);
    claimed.spec_damaged = spec->payload.damaged.has_value();
    claimed.spec_blob = std::move(spec->payload.blob);
    claimed.traceparent = std::move(spec->traceparent);
  }
  // Children share the input of their parent.
  if (const auto input = parent ? parent->input : row.input) {
    claimed.input = find_blob(db, *input);
    if (!claimed.input) claimed.spec_damaged = true;
  }
  claimed.rerun = row.rerun;
  claimed.crashes = row.crashes;
  claimed.losses = row.losses;
  if (row.parent) claimed.parent = schemas::JobId{row.kind, *row.parent};
  claimed.child_index = row.child_index;
  claimed.children_done = row.children > 0;
  claimed.deadline = base::wall_from(row.steady_deadline()) + tx.jumped;
  const std::int64_t run_at = row.deadline - std::chrono::milliseconds(schemas::kDefaultJobDeadline).count();
  claimed.queued_at = base::wall_from(std::max(row.created_at, run_at) - row.jumped_ms) + tx.jumped;
  claimed.claimed_at = tx.host_boot;
  claimed.has_budget = has_reservation(db, row);
  return claimed;
}

// Jobs of the kind run on the host of their machine.
bool is_by_host(const Store::Options& options, schemas::Kind kind) {
  const KindRules rules = kind_rules(kind);
  return !options.host.empty() && (rules.runs_on_machine || rules.internal);
}

class Claim {
 public:
  Claim(Tx& tx, const Store::Options& options, const JobClaims::Request& request)
      : tx_(tx), options_(options), transitions_(tx, options), request_(request) {}

  std::vector<ClaimedJob> run() {
    if (is_paused(tx_.db, request_.kind)) return {};
    if (request_.lanes && kind_rules(request_.kind).has_lanes) {
      take_from(LaneScheduler(tx_.db, request_.kind, *request_.lanes));
    } else if (is_by_host(options_, request_.kind)) {
      take_from(HostQueueCursor(tx_.db, request_.kind, options_.host));
    } else {
      take_from(fair_cursor());
    }
    return std::move(claimed_);
  }

 private:
  FairQueueCursor fair_cursor() {
    if (!tx_.db.has_round_trips()) return FairQueueCursor(tx_.db, request_.kind, CursorUse::kClaim);
    auto& positions = tx_.db.kept<QueuePositions>();
    const int rows = std::max(request_.count, positions.take_expected(request_.kind));
    QueueReads& reads = positions.reads(tx_, request_.kind);
    return FairQueueCursor(tx_.db, request_.kind, {positions, reads, std::clamp(rows, 1, kRowsReadMax)});
  }

  template <class Cursor>
  void take_from(Cursor&& cursor) {
    const int count = std::max(request_.count, 0);
    int unclaimable = 0;
    while (unclaimable < kUnclaimablePerClaim) {
      const int claimed = static_cast<int>(claimed_.size());
      if (claimed >= count + request_.reserved_slots) break;
      auto next = cursor.next(claimed < count ? Serve::kAll : Serve::kIdle);
      if (!next) break;
      auto row = find_job(tx_.db, next->id);
      // Read before another operation of this transaction has ended it.
      if (!row || row->status != JobStatus::kQueued) continue;
      if (take(*row)) {
        claimed_.back().permit = std::move(next->permit);
      } else {
        end_unclaimable(*row);
        cursor.forget_heads();
        ++unclaimable;
      }
    }
    cursor.save();
  }

  bool take(JobRow& row) {
    const auto parent = row.parent ? find_job(tx_.db, *row.parent) : std::nullopt;
    if (!may_be_claimed(tx_, row, parent)) return false;
    const auto token = base::Uuid::from_bytes(base::random_bytes(16));
    update_claimed(tx_, request_, row, *token);
    transitions_.window_slots().unpublish(row);
    row.status = JobStatus::kRunning;
    row.token = token;
    ++row.attempt;
    record_event(tx_, row, "running", "{\"attempt\":" + std::to_string(row.attempt) + "}");
    std::erase_if(tx_.commit.ready, [&](const ReadyJob& ready) { return ready.job.uuid == row.id; });
    claimed_.push_back(claimed_job(tx_, row, parent));
    return true;
  }

  void end_unclaimable(JobRow& row) {
    const bool overdue = row.steady_deadline() <= base::millis(tx_.steady());
    if (overdue && !may_expire_jobs(tx_)) return;
    transitions_.end(row, {.status = overdue ? JobStatus::kExpired : JobStatus::kCancelled});
  }

  Tx& tx_;
  const Store::Options& options_;
  JobTransitions transitions_;
  const JobClaims::Request& request_;
  std::vector<ClaimedJob> claimed_;
};

}  // namespace

void JobClaims::claim(Request request, Callback<std::vector<ClaimedJob>> done) {
  const std::size_t bytes =
      kClaimBytes * static_cast<std::size_t>(std::max(request.count + request.reserved_slots, 1));
  const Store::Options& options = store_.options();
  const auto prefetch = [kind = request.kind, count = request.count](Db& db) {
    db.kept<QueuePositions>().expect(kind, count);
  };
  submit_write<std::vector<ClaimedJob>>(
      store_.writer(), Writer::Priority::kUrgent, bytes,
      [request = std::move(request), &options](Tx& tx) -> base::Result<std::vector<ClaimedJob>> {
        if (request.withdrawn && *request.withdrawn) return std::vector<ClaimedJob>();
        auto claimed = Claim(tx, options, request).run();
        if (request.withdrawn && claimed.empty())
          tx.parked_for = {.kind = request.kind, .last = request.count == 0};
        return claimed;
      },
      std::move(done), prefetch);
}

void JobClaims::retry_parked_claims() {
  store_.writer().submit(
      Writer::Priority::kUrgent, kClaimBytes,
      [](Tx& tx) -> base::Status {
        tx.retry_parked_claims = true;
        return {};
      },
      [](const base::Status&) {});
}

base::Result<bool> has_ready_jobs(Store& store, schemas::Kind kind) {
  bool has = false;
  auto status = store.readers().read([&](Db& db) {
    if (is_by_host(store.options(), kind)) {
      has = HostQueueCursor::has_jobs(db, kind, store.options().host) && !is_paused(db, kind);
      return;
    }
    auto s = db.prepare(R"(
        SELECT 1 FROM jobs INDEXED BY jobs_ready
        WHERE status = {queued} AND run_at = 0 AND kind = ?1
        ORDER BY tenant DESC, priority, id DESC LIMIT 1)"_sql);
    has = s.bind(kind).step() && !is_paused(db, kind);
  });
  if (!status) return status.error();
  return has;
}

namespace {

constexpr std::size_t kHeartbeatBytes = 512;

enum class Renewal { kRenewed, kLost, kCancel };

constexpr Sql kFindLease = "SELECT cancel_requested, status, attempt, token FROM jobs WHERE id = ?1";

// A lease that maintenance has not expired yet still belongs to its owner, however late the renewal is.
Renewal renew(Tx& tx, const Lease& lease, std::chrono::milliseconds duration) {
  bool cancel = false;
  {
    auto s = tx.db.prepare(kFindLease);
    if (!s.bind(lease.job.uuid).step()) return Renewal::kLost;
    cancel = s.integer(0) != 0;
    const bool is_own = static_cast<JobStatus>(s.integer(1)) == JobStatus::kRunning &&
                        s.integer(2) == lease.attempt && s.optional_uuid(3) == lease.token;
    if (!is_own) return Renewal::kLost;
  }
  auto s = tx.db.prepare(R"(
          UPDATE jobs SET lease_boot = ?4, lease_until = ?5
          WHERE id = ?1 AND status = {running} AND attempt = ?2 AND token = ?3)"_sql);
  s.bind(lease.job.uuid, lease.attempt, lease.token, boot_number(tx.boot_id),
         base::millis(tx.boot + duration))
      .run();
  expect_one_change(s, "renew a lease");
  return cancel ? Renewal::kCancel : Renewal::kRenewed;
}

HeartbeatReply run_heartbeat(Tx& tx, const WorkerReport& report, const std::vector<Lease>& leases,
                             std::chrono::milliseconds duration) {
  write_worker(tx, report);
  HeartbeatReply reply;
  for (const Lease& lease : leases) tx.db.prefetch(kFindLease, BlobView{lease.job.uuid.bytes()});
  reply.drain = is_draining(tx.db, report.worker);
  for (const Lease& lease : leases) {
    switch (renew(tx, lease, duration)) {
      case Renewal::kRenewed:
        break;
      case Renewal::kLost:
        reply.lost.push_back(lease);
        break;
      case Renewal::kCancel:
        reply.cancel.push_back(lease.job);
        break;
    }
  }
  return reply;
}

}  // namespace

void JobClaims::heartbeat(WorkerReport report, std::vector<Lease> leases, std::chrono::milliseconds lease,
                          Callback<HeartbeatReply> done) {
  const std::size_t bytes = kHeartbeatBytes + 64 * leases.size();
  submit_write<HeartbeatReply>(
      store_.writer(), Writer::Priority::kUrgent, bytes,
      [report = std::move(report), leases = std::move(leases), lease,
       has_hosts = !store_.options().host.empty()](Tx& tx) -> base::Result<HeartbeatReply> {
        if (has_hosts) {
          if (auto is_free = check_worker_name(tx, report); !is_free) return is_free.error();
        }
        return run_heartbeat(tx, report, leases, lease);
      },
      std::move(done));
}

void JobClaims::retire(std::string worker, Callback<bool> done) {
  submit_write<bool>(
      store_.writer(), Writer::Priority::kUrgent, kHeartbeatBytes,
      [worker = std::move(worker)](Tx& tx) -> base::Result<bool> {
        remove_worker(tx.db, worker);
        return true;
      },
      std::move(done));
}

}  // namespace millrace::storage
