#include <string>
#include <utility>

#include "storage/job_claims.h"
#include "storage/job_rows.h"
#include "storage/worker_rows.h"

namespace millrace::storage {
namespace {

constexpr std::size_t kHeartbeatBytes = 512;

enum class Renewal { kRenewed, kLost, kCancel };

// A lease that maintenance has not expired yet still belongs to its owner, however late the renewal is.
Renewal renew(Tx& tx, const Lease& lease, std::chrono::milliseconds duration) {
  bool cancel = false;
  {
    auto s = tx.db.prepare(
        "SELECT cancel_requested FROM jobs WHERE id = ?1 AND status = 1 AND attempt = ?2 AND token = ?3");
    if (!s.bind(lease.job.uuid, lease.attempt, lease.token).step()) return Renewal::kLost;
    cancel = s.integer(0) != 0;
  }
  tx.db
      .prepare(
          "UPDATE jobs SET lease_boot = ?4, lease_until = ?5 "
          "WHERE id = ?1 AND status = 1 AND attempt = ?2 AND token = ?3")
      .bind(lease.job.uuid, lease.attempt, lease.token, boot_number(tx.boot_id),
            base::millis(tx.boot + duration))
      .run();
  return cancel ? Renewal::kCancel : Renewal::kRenewed;
}

HeartbeatReply beat(Tx& tx, const WorkerReport& report, const std::vector<Lease>& leases,
                    std::chrono::milliseconds duration) {
  write_worker(tx, report);
  HeartbeatReply reply;
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
                          Done<HeartbeatReply> done) {
  const std::size_t bytes = kHeartbeatBytes + 64 * leases.size();
  submit_move<HeartbeatReply>(
      store_.writer(), Writer::Priority::kUrgent, bytes,
      [report = std::move(report), leases = std::move(leases),
       lease](Tx& tx) -> base::Result<HeartbeatReply> { return beat(tx, report, leases, lease); },
      std::move(done));
}

void JobClaims::retire(std::string worker, Done<bool> done) {
  submit_move<bool>(
      store_.writer(), Writer::Priority::kUrgent, kHeartbeatBytes,
      [worker = std::move(worker)](Tx& tx) -> base::Result<bool> {
        remove_worker(tx.db, worker);
        return true;
      },
      std::move(done));
}

}  // namespace millrace::storage
