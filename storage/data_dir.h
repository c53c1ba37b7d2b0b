#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "platform/base/ids.h"
#include "platform/base/result.h"
#include "storage/db/db.h"

namespace millrace::storage {

// Paths in DATA. DATA has mode 0711; everything that storage creates in it has 0700 or 0600.
struct DataDir {
  explicit DataDir(const std::string& path)
      : root(path),
        locks(path + "/locks"),
        blobs(path + "/blobs"),
        database(path + "/millrace.db"),
        identity(path + "/identity"),
        pepper(path + "/pepper") {}
  std::string root, locks, blobs, database;
  std::string identity;  // the id of the store (check_identity)
  std::string pepper;    // created and used by the API, after the store has been opened
};

// Where the content of a store's blobs is. That of kElsewhere (S3) is not part of checks and copies of the
// folder.
enum class BlobPlace : std::uint8_t { kDataDir, kElsewhere };

// The reason why no new store may be created here: the database is missing or empty, but a file that exists
// only beside a database is there (the identity, the pepper, a blob). Empty: there is a database, or there
// never was one; an interrupted first start may be repeated. Changes nothing.
std::string missing_database_error(const DataDir& dir);
// The same for a database without tables.
std::string empty_database_error(const DataDir& dir);

// The pepper or a blob is there: keys or documents that rows refer to.
bool has_pepper_or_blobs(const DataDir& dir);

// Creates missing folders and sets their modes. Refuses a folder that cannot be written, that holds other
// files and is open to other users, or that is on a network file system. As root, it also refuses a folder
// whose database belongs to another user, who could not open root's files. The message says what to do.
base::Result<DataDir> open_data_dir(const std::string& root);

enum class FileSystem { kLocal, kUnknown, kRefused };
struct FileSystemInfo {
  FileSystem support = FileSystem::kUnknown;
  std::string_view name;  // of a refused file system
};
// Looks up the magic number of statfs(2). SQLite's WAL mode and flock do not work on NFS, CIFS, 9p, virtiofs
// and FUSE.
FileSystemInfo file_system_info(std::uint32_t magic);

// Bytes that an unprivileged process may still write; -1 if unknown.
std::int64_t free_bytes(const std::string& folder);
// "12 MiB", rounded up, for messages.
std::string mebibytes(std::int64_t bytes);
// The size of a file by stat, 0 if it is missing. Only SQLite opens `-wal`.
std::int64_t file_bytes(const std::string& path);
// By stat: which file it is, and its last modification in nanoseconds of the wall clock; 0 if it is missing.
struct FileStamp {
  std::uint64_t inode = 0;
  std::int64_t written_ns = 0;
};
FileStamp file_stamp(const std::string& path);

// Inside storage: the identity of a store, a random id created with the database. It is stored in the table
// `identity` and in the file DATA/identity. If they differ, the database is not the one that the pepper and
// the blobs belong to.

// The first schema version that has the table.
inline constexpr int kIdentitySchema = 16;
// Added to the name of the database after its rows were copied to PostgreSQL.
inline constexpr const char* kMovedSuffix = ".moved";

// Inserts the row: the id in the file, if the database is older than the table; otherwise a new id. REQUIRES:
// in the transaction that creates the table. Throws DbError, also if the file has no valid id.
void insert_identity(Db& db, const DataDir& dir);

// The id of the row; throws DbError if the row is missing.
base::Uuid identity_of(Db& db);

// The name of a SQLite store for Blobs::claim: its identity and ".sqlite". Of a directory: by the file,
// kNotFound if there is none.
std::string sqlite_owner(Db& db);
base::Result<std::string> sqlite_owner(const DataDir& dir);

// Refuses a database that is not the one that the file names. If the file is missing, creates and syncs it,
// unless `may_write` is false. The message says what to do. Throws DbError.
base::Status check_identity(Db& db, const DataDir& dir, bool may_write);

}  // namespace millrace::storage
