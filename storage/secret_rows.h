#pragma once
#include <string>
#include <string_view>

#include "platform/base/ids.h"
#include "storage/sqlite.h"

// Inside storage: the sealed bytes of open jobs.
namespace millrace::storage {

void insert_secret(Db& db, const base::Uuid& job, std::string_view sealed);
// Empty: there are none.
std::string find_secret(Db& db, const base::Uuid& job);
// The row goes and its bytes are overwritten (secure_delete).
void wipe_secret(Db& db, const base::Uuid& job);

}  // namespace millrace::storage
