#pragma once

struct sqlite3;
struct sqlite3_file;
struct sqlite3_vfs;

// Inside storage: how the write-ahead log reaches its file.
namespace millrace::storage {

// Opens a log so that what a connection adds to it is gathered and written in pieces of up to 120 KB; SQLite
// by itself writes each page and the 24 bytes of its head with a call of their own. All of it is in the file
// before a sync of the log begins, and before a part of it is read back or the file is cut through the same
// connection. REQUIRES: synchronous=FULL; then each COMMIT syncs the log before it tells other connections of
// the new pages, so that nobody looks for them earlier. cache_spill=OFF: nothing is gathered outside of a
// COMMIT. `forget_gathered` at the end of each rollback: without the write lock the place of what is gathered
// belongs to others, and nothing may write it any more. A write that fails does so out of a later write or
// the sync, as if that had failed; what was gathered is forgotten with it, as SQLite rolls back. To close
// writes nothing. For sqlite_files.cpp: `place` has kLogFileBytes before the room for a file of `own`.
int open_log(sqlite3_vfs& own, const char* path, sqlite3_file* place, int flags, int* flags_out);
extern const int kLogFileBytes;

// Drops what the connection has gathered for the log of its main database, if anything. On its thread, also
// from its rollback hook.
void forget_gathered(sqlite3* db);

}  // namespace millrace::storage
