#pragma once

struct sqlite3;
struct sqlite3_file;
struct sqlite3_vfs;

// Inside storage: how the write-ahead log is written to its file.
namespace millrace::storage {

// Opens a write-ahead log whose appended data is buffered and written in pieces of up to 120 KB. By itself,
// SQLite writes each page and its 24-byte header with separate calls. All buffered data is in the file before
// a sync of the log begins, before a part of it is read back, and before the file is truncated through the
// same connection. REQUIRES: synchronous=FULL, so that each COMMIT syncs the log before other connections can
// see the new pages; and cache_spill=OFF, so that nothing is buffered outside of a COMMIT. Call
// `discard_buffered_log` at the end of each rollback: without the write lock, another connection may use the
// place of the buffered data, so the data must not be written any more. If writing the buffer fails, a later
// write or the sync reports the error, as if it had failed itself; the buffer is discarded, as SQLite rolls
// back. Closing writes nothing. `memory` has kLogFileBytes, followed by the space for a file of `base_vfs`.
int open_log(sqlite3_vfs& own, const char* path, sqlite3_file* place, int flags, int* flags_out);
extern const int kLogFileBytes;

// Discards the data that the connection has buffered for the log of its main database, if there is any. On
// the connection's thread, also from its rollback hook.
void forget_gathered(sqlite3* db);

}  // namespace millrace::storage
