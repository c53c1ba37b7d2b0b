#pragma once

struct sqlite3_file;
struct sqlite3_vfs;

// Inside storage: how pages of the log reach the database's file.
namespace millrace::storage {

// Opens a database for the connection that checkpoints it. While a checkpoint makes the file longer, pages
// that lie one after the other are gathered and written in runs of up to a MiB. A run of 64 KB or more goes
// past the page cache, where the file system can do that: what is appended under load is seldom read soon,
// the cache would take fresh memory for it, and the sync of all of it at once would keep the disk from the
// log. Everything else is written as SQLite writes it.
//
// A run is in the file before anything else is done to the file through this connection, and before the write
// of the file's last page returns: what fails does so out of these, and SQLite keeps its log. Where the log
// has not that page, the rest is written when SQLite says that the copy is done, which takes no error: a
// failure then ends the process as one of COMMIT does, before SQLite counts the pages as copied.
//
// For sqlite_files.cpp: `place` has kRunFileBytes before the room for a file of `own`. `opened` tells the
// descriptor that `own` has opened just now, -1 if it opened none: then nothing goes past the cache. It is
// the file's own; to open a second one and close it would give SQLite's locks away.
int open_for_copies(sqlite3_vfs& own, const char* path, sqlite3_file* place, int flags, int* flags_out,
                    int (*opened)());
extern const int kRunFileBytes;

}  // namespace millrace::storage
