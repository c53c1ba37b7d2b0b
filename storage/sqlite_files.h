#pragma once

// Inside storage: how SQLite opens its files.
namespace millrace::storage {

// The name of the VFS with which Db opens: SQLite's own for this system, but with a log that gathers
// (log_writes.h) and a database that gathers what a checkpoint copies (copy_writes.h). A sync of either that
// fails ends every process of the store (failure_flag.h). Also sets SQLite up for the process at the first
// call: it counts no memory, which costs a lock at each allocation, and opens files through a function that
// notes their descriptors. Any thread.
const char* vfs_name();

}  // namespace millrace::storage
