#pragma once
#include <chrono>
#include <span>
#include <string>

#include "platform/base/result.h"
#include "storage/migrations.h"
#include "storage/schema_lock.h"

namespace millrace::storage {

// Brings the database to the last of `steps` and returns with `lock` shared. Any number of processes may do
// this at once, on an empty volume too: one migrates, the others see that nothing is due any more
// (delivery.md). Refuses a database that is newer than `steps`, and names the holders if someone keeps an
// older schema open.
base::Status migrate(const std::string& database, SchemaLock& lock, std::span<const Migration> steps,
                     std::chrono::milliseconds wait);

}  // namespace millrace::storage
