#pragma once
#include <cstdint>

struct sqlite3;
struct sqlite3_file;
struct sqlite3_vfs;

// Inside storage: the VFS that SQLite uses for its files. It decides how the write-ahead log is written, and
// how a checkpoint makes the copied pages durable.
namespace millrace::storage {

// The name of the VFS that Db opens files with. It is SQLite's default VFS for this system, with a log that
// buffers its writes and a database file that is synced at each checkpoint. If a sync of either file fails,
// every process of the store ends (ADR 39). The first call also turns off SQLite's memory statistics, which
// take a lock at each allocation. nullptr: SQLite could not be set up. Any thread.
const char* vfs_name();

// Opens a write-ahead log whose appended data is buffered and written in pieces of up to 120 KB. By itself,
// SQLite writes each page and its 24-byte header with separate calls. All buffered data is in the file before
// a sync of the log begins, before a part of it is read back, and before the file is truncated through the
// same connection. REQUIRES: synchronous=FULL, so that each COMMIT syncs the log before other connections can
// see the new pages; and cache_spill=OFF, so that nothing is buffered outside of a COMMIT. Call
// `discard_buffered_log` at the end of each rollback: without the write lock, another connection may use the
// place of the buffered data, so the data must not be written any more. If writing the buffer fails, a later
// write or the sync reports the error, as if it had failed itself; the buffer is discarded, as SQLite rolls
// back. Closing writes nothing. `memory` has kLogFileBytes, followed by the space for a file of `base_vfs`.
int open_log(sqlite3_vfs& base_vfs, const char* path, sqlite3_file* memory, int flags, int* flags_out);
extern const int kLogFileBytes;

// Discards the data that the connection has buffered for the log of its main database, if there is any. On
// the connection's thread, also from its rollback hook.
void discard_buffered_log(sqlite3* db);

// The generation of the log (LogContent) that the connection wrote to last; 0 if it has not written.
std::uint64_t log_generation(sqlite3* db);

// Opens a database file that any connection may checkpoint. SQLite (3.40, wal.c) syncs the database only
// after a checkpoint of the whole log. But it counts pages as copied after every checkpoint, and it ignores
// the result of SQLITE_FCNTL_CKPT_DONE. Therefore this file syncs what its connection has written when SQLite
// reports SQLITE_FCNTL_CKPT_DONE, before SQLite counts the pages. A failed sync ends the process (ADR 39).
// `memory` has kDatabaseFileBytes, followed by the space for a file of `base_vfs`.
int open_database_file(sqlite3_vfs& base_vfs, const char* path, sqlite3_file* memory, int flags,
                       int* flags_out);
extern const int kDatabaseFileBytes;

}  // namespace millrace::storage
