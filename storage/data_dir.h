#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "platform/base/result.h"

namespace millrace::storage {

// Where things lie in DATA. DATA is 0711, everything that storage makes in it 0700 or 0600.
struct DataDir {
  explicit DataDir(const std::string& path)
      : root(path),
        locks(path + "/locks"),
        blobs(path + "/blobs"),
        database(path + "/millrace.db"),
        identity(path + "/identity"),
        pepper(path + "/pepper") {}
  std::string root, locks, blobs, database;
  std::string identity;  // which store it is (identity.h)
  std::string pepper;    // the API's, which makes it when the store has been opened
};

// Why no store may be made here: the database is missing or empty, and what is made only beside one is there
// (its identity, the pepper, a blob). Empty: there is a database, or there never was one; a first start that
// was cut short may be repeated. Looks only.
std::string lost_database(const DataDir& dir);
// The same of a database without a table.
std::string emptied_database(const DataDir& dir);

// Makes what is missing, sets the modes, and refuses a folder that cannot be written, that holds other things
// and is open to other users, that lies on a network file system, or whose database is another user's where
// this is root, whose files that user could not open. The message says what to do.
base::Result<DataDir> open_data_dir(const std::string& root);

enum class FileSystem { kLocal, kUnknown, kRefused };
struct FileSystemKind {
  FileSystem verdict = FileSystem::kUnknown;
  std::string_view name;  // of a refused one
};
// By the magic number of statfs(2): SQLite's WAL and flock do not hold on NFS, CIFS, 9p, virtiofs and FUSE.
FileSystemKind file_system_kind(std::uint32_t magic);

// Bytes that an unprivileged process may still write; -1: unknown.
std::int64_t free_bytes(const std::string& folder);
// "12 MiB", rounded up, for people.
std::string mebibytes(std::int64_t bytes);
// The size of a file by stat, 0 if it is missing: `-wal` is never opened by anyone but SQLite.
std::int64_t file_bytes(const std::string& path);
// When it was written last, nanoseconds of the wall clock; 0 if it is missing. By stat, too.
std::int64_t file_written_ns(const std::string& path);

}  // namespace millrace::storage
