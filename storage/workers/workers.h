#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/jobs/job.h"
#include "storage/jobs/idempotent_call.h"
#include "storage/jobs/job_claims.h"
#include "storage/store.h"
#include "storage/writer/writer.h"

// Inside storage: the rows of `workers` and `worker_slots`, which the publication window and rule 10 read.
namespace millrace::storage {

// A worker without a heartbeat for this long counts as having no free slots (the default lease,
// docs/design/delivery.md §6).
inline constexpr std::chrono::milliseconds kWorkerTimeout{20'000};
// A token counts as lost only if the kind has had a free slot for this long (rule 10).
inline constexpr std::chrono::milliseconds kFreeSlotAge{5'000};

// The boot id as a number, as rows store it. A different number means that every lease of the old boot has
// ended.
std::int64_t boot_number(std::string_view boot_id);

// kInvalidState: a living worker on another host has this name. Only for stores of several hosts: the name of
// a single host may change.
base::Status check_worker_name(const Tx& tx, const WorkerReport& report);
void write_worker(Tx& tx, const WorkerReport& report);
void remove_worker(Db& db, std::string_view worker);
bool is_draining(Db& db, std::string_view worker);

std::int64_t free_slots(const Tx& tx, schemas::Kind kind);  // of all live workers that are not draining
bool has_long_free_slot(const Tx& tx, schemas::Kind kind);  // for at least kFreeSlotAge

// Drains workers. A worker gets the request with its next heartbeat, finishes its running jobs and stays
// listed. If a worker restarts under the same name, it claims jobs again.
class WorkerDrains {
 public:
  explicit WorkerDrains(Store& store) : store_(store) {}

  // A write, audited. kNotFound: no worker with that name has reported, or it shut down normally.
  void drain(std::string worker, Callback<bool> done, Caller by = {});

 private:
  Store& store_;
};

// The kinds for which some worker starts jobs: its last heartbeat is at most kWorkerTimeout old, it has slots
// for them, and it is not draining. Blocks.
base::Result<std::vector<schemas::Kind>> served_kinds(Store& store);

}  // namespace millrace::storage
