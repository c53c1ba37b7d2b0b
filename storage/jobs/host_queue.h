#pragma once
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "schemas/jobs/job.h"
#include "storage/db/db.h"
#include "storage/jobs/claim_order.h"

namespace millrace::storage {

// Inside storage: the claim order of jobs that run on machines, when the machines of the store are on several
// hosts: the same order, among the jobs of this host and those that any host may run (jobs.host). Jobs of
// other hosts are not scanned. As with FairQueueCursor, the caller removes each job from the queue before it
// calls `next` again.
class HostQueueCursor {
 public:
  HostQueueCursor(Db& db, schemas::Kind kind, std::string host);
  // Reads. True: this host may run a job of the kind now.
  static bool has_jobs(Db& db, schemas::Kind kind, const std::string& host);
  HostQueueCursor(const HostQueueCursor&) = delete;
  HostQueueCursor& operator=(const HostQueueCursor&) = delete;
  std::optional<QueuedJob> next(Serve serve = Serve::kAll);
  void forget_heads() {}
  // Stores the tenant that was served last.
  void save() { selector_.save(); }

 private:
  using Head = std::pair<std::int64_t, base::Uuid>;  // -priority, id
  std::optional<std::string> tenant_after(const std::string& name);
  std::optional<Head> head_of(const std::string& host, const std::string& tenant);

  Db& db_;
  const schemas::Kind kind_;
  const std::string host_;
  TenantSelector selector_;
};

}  // namespace millrace::storage
