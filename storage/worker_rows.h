#pragma once
#include <chrono>
#include <cstdint>
#include <string_view>

#include "storage/job_claims.h"
#include "storage/writer.h"

// Inside storage: the rows `workers` and `worker_slots`, which the publisher's window and rule 10 read.
namespace millrace::storage {

// A worker that was not heard of for this long has no free slots (the default lease, delivery.md).
inline constexpr std::chrono::milliseconds kWorkerAlive{20'000};
// A token counts as lost only if the kind has had a free slot for this long (rule 10).
inline constexpr std::chrono::milliseconds kFreeFor{5'000};

// The boot as rows name it: another number means that every lease of the old one is over.
std::int64_t boot_number(std::string_view boot_id);

void write_worker(Tx& tx, const WorkerReport& report);
void remove_worker(Db& db, std::string_view worker);
bool is_draining(Db& db, std::string_view worker);

std::int64_t free_slots(const Tx& tx, schemas::Kind kind);  // of all live workers that do not drain
bool has_long_free_slot(const Tx& tx, schemas::Kind kind);  // for kFreeFor at least

}  // namespace millrace::storage
