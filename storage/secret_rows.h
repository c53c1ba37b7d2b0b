#pragma once
#include <string>
#include <string_view>

#include "platform/base/ids.h"
#include "storage/sqlite.h"

// Inside storage: the sealed bytes of open jobs.
namespace millrace::storage {

void insert_secret(Db& db, const base::Uuid& job, std::string_view sealed);
// Empty if there are none.
std::string find_secret(Db& db, const base::Uuid& job);
// Deletes the row and overwrites its bytes (secure_delete).
void wipe_secret(Db& db, const base::Uuid& job);

}  // namespace millrace::storage
