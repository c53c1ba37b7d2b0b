#pragma once
#include <string>

#include "storage/sqlite/database.h"

namespace millrace::storage {

// Compares the tables, indexes and triggers of a database that has the newest schema with those that the
// migrations create. Returns the first that is missing or differs: "index jobs_ready is missing". Empty:
// none. Further tables do not count. Throws DbError.
std::string schema_difference(SqliteDb& db);

}  // namespace millrace::storage
