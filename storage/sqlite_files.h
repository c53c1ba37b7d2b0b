#pragma once

// Inside storage: how SQLite opens its files.
namespace millrace::storage {

// The name of the VFS with which Db opens files: SQLite's own for this system, with a log that gathers its
// writes (log_writes.h) and a database that is synced at each checkpoint (copy_writes.h). A sync of either
// that fails ends every process of the store (ADR 39). The first call also turns off SQLite's memory
// statistics, which cost a lock at each allocation. nullptr: SQLite could not be set up. Any thread.
const char* vfs_name();

}  // namespace millrace::storage
