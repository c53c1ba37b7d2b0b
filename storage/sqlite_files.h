#pragma once

// Inside storage: the VFS that SQLite uses for its files.
namespace millrace::storage {

// The name of the VFS that Db opens files with. It is SQLite's default VFS for this system, with a log that
// buffers its writes and a database file that is synced at each checkpoint. If a sync of either file fails,
// every process of the store ends (ADR 39). The first call also turns off SQLite's memory statistics, which
// take a lock at each allocation. nullptr: SQLite could not be set up. Any thread.
const char* vfs_name();

}  // namespace millrace::storage
