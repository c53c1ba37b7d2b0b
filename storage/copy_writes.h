#pragma once

struct sqlite3_file;
struct sqlite3_vfs;

// Inside storage: how a checkpoint makes the copied pages durable.
namespace millrace::storage {

// Opens a database file that any connection may checkpoint. SQLite (3.40, wal.c) syncs the database only
// after a checkpoint of the whole log. But it counts pages as copied after every checkpoint, and it ignores
// the result of SQLITE_FCNTL_CKPT_DONE. Therefore this file syncs what its connection has written when SQLite
// reports SQLITE_FCNTL_CKPT_DONE, before SQLite counts the pages. A failed sync ends the process (ADR 39).
// `memory` has kDatabaseFileBytes, followed by the space for a file of `base_vfs`.
int open_database_file(sqlite3_vfs& own, const char* path, sqlite3_file* place, int flags, int* flags_out);
extern const int kDatabaseFileBytes;

}  // namespace millrace::storage
