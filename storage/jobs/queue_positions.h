#pragma once
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "platform/base/ids.h"
#include "storage/db/db.h"
#include "storage/jobs/job_rows.h"
#include "storage/writer/writer.h"

// Inside storage, on PostgreSQL only: while any session holds an old snapshot open, the rows that claims have
// taken stay at the front of the index of ready jobs. A claim that begins at the front would pass them all.
// So a connection that claims remembers, for each tenant that it claimed much of, before which id the tenant
// has no ready job. Jobs with a young id are never before such an id. Every other job that becomes ready is
// noted in the table `ready_again`, which each claim reads on from where the last one stopped. In the same
// way the index of running jobs keeps those that have ended, so a check of leases looks only at times that
// the last one did not look at.
namespace millrace::storage {

// This many parts of a split document (or recording) are ordered by age; the parts after them are late.
inline constexpr int kChildrenByAge = 2;

// A row of a tenant's queue.
struct QueueHead {
  std::string tenant;
  std::int64_t priority = 0;
  base::Uuid id;
  std::optional<base::Uuid> parent{};
  int child_index = 0;
  bool is_late() const { return parent && child_index >= kChildrenByAge; }
};

// What the claims of one transaction have read of the queues of a kind and not taken. No job has become ready
// since; jobs of it may have ended.
struct QueueReads {
  std::map<std::string, std::deque<QueueHead>> queues{};             // by tenant
  std::map<std::string, std::optional<std::string>> tenant_after{};  // the next one that has jobs
  void clear() {
    queues.clear();
    tenant_after.clear();
  }
};
class QueuePositions : public KeptState {
 public:
  // The claims of the next transaction want so many more jobs. Calls add up.
  void expect(schemas::Kind kind, int jobs) { expected_[kind] += jobs; }
  int take_expected(schemas::Kind kind) { return std::exchange(expected_[kind], 0); }

  void transaction_begins() override {
    reads_.clear();
    expected_.clear();
  }
  // What the claims of this transaction share. At its first claim, this reads the notes.
  QueueReads& reads(Tx& tx, schemas::Kind kind);
  // A job becomes ready.
  void note(schemas::Kind kind, const std::string& tenant, std::int64_t priority, const base::Uuid& job);

  // Before this id, the tenant has no ready job of the kind, and none of a higher priority than 0.
  std::optional<base::Uuid> of(schemas::Kind kind, const std::string& tenant) const;
  // The first tenant behind `tenant` that has such an id.
  std::optional<std::string> tenant_after(schemas::Kind kind, const std::string& tenant) const;
  // A read of the tenant's queue from its beginning, or from `of`, has returned `rows` rows. `first`: the
  // first one, if its priority is 0.
  void read(schemas::Kind kind, const std::string& tenant, int rows, const std::optional<base::Uuid>& first);
  void forget(schemas::Kind kind, const std::string& tenant) { first_.erase({kind, tenant}); }

  // From where a check looks for leases that have ended, by the boot clock. Absent: it looks at all running
  // jobs. A check that found all that had ended by `until` says so.
  std::optional<base::BootTime> leases_from(base::BootTime now);
  void leases_checked(base::BootTime until) { leases_from_ = until; }

 private:
  using Queue = std::pair<schemas::Kind, std::string>;
  void refresh(Tx& tx);
  void start_again(Tx& tx);

  std::map<schemas::Kind, QueueReads> reads_;
  std::map<schemas::Kind, int> expected_;
  std::map<Queue, base::Uuid> first_;
  std::map<Queue, int> rows_read_;
  std::optional<std::chrono::steady_clock::time_point> since_;
  base::WallTime refreshed_at_{};
  std::int64_t noted_ = 0;  // the last row of ready_again that was read
  base::Uuid young_{};      // no younger id is ever noted
  std::optional<base::BootTime> leases_from_;
  std::optional<std::chrono::steady_clock::time_point> all_leases_checked_;
};

// Call when a job becomes ready, in the same transaction.
void note_ready(Tx& tx, const JobRow& row);
// Removes notes that every claimer has read. Returns how many.
int remove_notes(Tx& tx, int limit);

}  // namespace millrace::storage
