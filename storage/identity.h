#pragma once
#include <optional>
#include <string>

#include "platform/base/ids.h"
#include "platform/base/result.h"
#include "storage/data_dir.h"
#include "storage/sqlite.h"

// Inside storage: the identity of a store, a random id created with the database. It is stored in the table
// `identity` and in the file DATA/identity. If they differ, the database is not the one that the pepper and
// the blobs belong to.
namespace millrace::storage {

// The first schema version that has the table.
inline constexpr int kIdentitySchema = 16;

// Inserts the row: the id in the file, if the database is older than the table; otherwise a new id. REQUIRES:
// in the transaction that creates the table. Throws SqliteError, also if the file has no valid id.
void insert_identity(Db& db, const DataDir& dir);

// The id of the row; throws SqliteError if the row is missing.
base::Uuid identity_of(Db& db);

// Refuses a database that is not the one that the file names. If the file is missing, creates and syncs it,
// unless `may_write` is false. The message says what to do. Throws SqliteError.
base::Status check_identity(Db& db, const DataDir& dir, bool may_write);

}  // namespace millrace::storage
