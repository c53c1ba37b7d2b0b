#pragma once
#include <optional>
#include <string>

#include "platform/base/ids.h"
#include "platform/base/result.h"
#include "storage/data_dir.h"
#include "storage/sqlite.h"

// Inside storage: which store a data directory is. One id, made with the database, in its table `identity`
// and in the file DATA/identity: where they differ, the database is not the one that pepper and blobs belong
// to.
namespace millrace::storage {

// The schema that has the table.
inline constexpr int kIdentitySchema = 16;

// The row: the id that the file has, of a database that is older than the table; else a new one. REQUIRES: in
// the transaction that makes the table. Throws SqliteError, also for a file without an id.
void insert_identity(Db& db, const DataDir& dir);

// The row's id; throws SqliteError where it is missing.
base::Uuid identity_of(Db& db);

// Refuses a database that is not the one which the file names. Absent file: makes it, and syncs it, unless
// `may_write` is false. The message says what to do. Throws SqliteError.
base::Status check_identity(Db& db, const DataDir& dir, bool may_write);

}  // namespace millrace::storage
