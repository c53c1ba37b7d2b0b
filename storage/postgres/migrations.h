#pragma once
#include <span>

#include "platform/base/result.h"
#include "storage/db/migration.h"
#include "storage/postgres/database.h"

namespace millrace::storage {

// The files storage/postgres/NNNN_name.sql in order. The first creates the whole schema that SQLite has at
// this number; from then on each migration of SQLite has one of the same number here.
std::span<const Migration> postgres_migrations();

// 0: the database has no schema of Millrace.
int schema_version(Db& db);

// Brings the schema to the last of `steps`, in one transaction; creates it in an empty schema. Any number of
// processes may call this at once. Refuses a newer schema, and tables of other programs. Throws DbError.
base::Status migrate_postgres(PostgresDb& db, std::span<const Migration> steps);

}  // namespace millrace::storage
