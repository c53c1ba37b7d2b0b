#pragma once
#include <chrono>
#include <string>

#include "platform/base/result.h"
#include "storage/db/db.h"

namespace millrace::storage {

// kOverloaded with the time after which the caller may retry.
base::Error overloaded(std::string why, std::chrono::milliseconds retry_after);

// Converts an error of the database to one for callers. Every error except a full disk, a database that
// is busy or cannot be reached, and an interrupted read is logged with its text and returned as kInternal.
base::Error store_error(const DbError& e);

}  // namespace millrace::storage
