#pragma once

struct sqlite3_file;
struct sqlite3_vfs;

// Inside storage: how pages of the log reach the database's file.
namespace millrace::storage {

// Opens a database, which any connection may checkpoint. Of a checkpoint that makes the file longer, the
// pages behind its old end are gathered where they lie one after the other, and written in runs of up to a
// MiB. A run of 64 KB or more goes past the page cache, where the file system can do that: what is appended
// under load is seldom read soon, the cache would take fresh memory for it, and the sync of all of it at once
// would keep the disk from the log. All other pages are written as SQLite writes them.
//
// SQLite (3.40, wal.c) counts pages as copied after SQLITE_FCNTL_CKPT_DONE, whose answer it does not read. So
// a run is in the file before the write of the file's last page returns, and a failure is that write's, which
// SQLite heeds: it keeps its log. A copy of the whole log has that page, as the file grew by it. One that
// stops before a reader's pages may not have it, and gathers nothing. Reads, cuts, syncs and the length of
// the file find the run in it, too. If something is left all the same when the copy is done and cannot be
// written, the process ends. SQLite syncs the database only after a copy of the whole log, but counts pages
// as copied after each: so the file is synced at SQLITE_FCNTL_CKPT_DONE, before SQLite counts them.
//
// For sqlite_files.cpp: `place` has kRunFileBytes before the room for a file of `own`. `take_opened_fd` gives
// the descriptor that `own` has opened just now, -1 if it opened none: then nothing goes past the cache. It
// is the file's own; to open a second one and close it would give SQLite's locks away.
int open_for_copies(sqlite3_vfs& own, const char* path, sqlite3_file* place, int flags, int* flags_out,
                    int (*take_opened_fd)());
extern const int kRunFileBytes;

}  // namespace millrace::storage
