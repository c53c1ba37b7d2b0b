#include "storage/data_dir.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <fcntl.h>
#include <pwd.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "platform/base/crypto.h"
#include "platform/base/fd.h"
#include "platform/base/log.h"
#include "storage/sqlite/database.h"
#include "storage/sqlite/errors.h"

namespace millrace::storage {
namespace {

struct KnownFileSystem {
  std::uint32_t magic;
  FileSystem support;
  std::string_view name;
};

constexpr std::array kKnown = {
    KnownFileSystem{0xEF53, FileSystem::kLocal, "ext4"},
    KnownFileSystem{0x58465342, FileSystem::kLocal, "xfs"},
    KnownFileSystem{0x9123683E, FileSystem::kLocal, "btrfs"},
    KnownFileSystem{0x01021994, FileSystem::kLocal, "tmpfs"},
    KnownFileSystem{0x794C7630, FileSystem::kLocal, "overlayfs"},
    KnownFileSystem{0x2FC12FC1, FileSystem::kLocal, "zfs"},
    KnownFileSystem{0xF2F52010, FileSystem::kLocal, "f2fs"},
    KnownFileSystem{0xCA451A4E, FileSystem::kLocal, "bcachefs"},
    KnownFileSystem{0x6969, FileSystem::kRefused, "NFS"},
    KnownFileSystem{0x517B, FileSystem::kRefused, "SMB"},
    KnownFileSystem{0xFF534D42, FileSystem::kRefused, "CIFS"},
    KnownFileSystem{0xFE534D42, FileSystem::kRefused, "SMB2"},
    KnownFileSystem{0x01021997, FileSystem::kRefused, "9p"},
    KnownFileSystem{0x65735546, FileSystem::kRefused, "FUSE or virtiofs"},
};

base::Error refused(const std::string& path, const std::string& why) {
  return base::error(base::Code::kInternal, "data directory " + path + ": " + why);
}

// The mode of a folder that holds other files and is open to other users is not changed. A copy of a data
// directory has a database, but no locks.
bool is_shared(const struct stat& folder) { return (folder.st_mode & 077) != 0; }
bool is_foreign(const std::string& path) {
  std::error_code failed;
  const bool is_empty = std::filesystem::is_empty(path, failed);
  return !failed && !is_empty && !std::filesystem::exists(path + "/locks", failed) &&
         !std::filesystem::exists(path + "/../locks", failed) &&
         !std::filesystem::exists(DataDir(path).database, failed);
}

base::Status make_folder(const std::string& path, mode_t mode) {
  const bool made = ::mkdir(path.c_str(), mode) == 0;
  if (!made && errno != EEXIST) {
    return refused(path, std::string("cannot be created: ") + std::strerror(errno) +
                             "; set --data to a folder that " + "this user may write");
  }
  struct stat folder {};
  if (::stat(path.c_str(), &folder) != 0 || !S_ISDIR(folder.st_mode)) return refused(path, "is not a folder");
  const bool differs = (folder.st_mode & 07777) != mode;
  if (differs && !made && is_shared(folder) && is_foreign(path)) {
    return refused(path, "contains other files; set --data to a folder of its own");
  }
  if (differs && ::chmod(path.c_str(), mode) != 0) {
    return refused(path, "belongs to another user; chown it or set --data to another folder");
  }
  if (::access(path.c_str(), W_OK | X_OK) == 0) return {};
  if (errno != EACCES) return refused(path, "cannot be written: " + system_failure(errno));
  return refused(path, "cannot be written by this user; chown it or set --data to another folder");
}

std::string user_name(uid_t user) {
  passwd entry{};
  passwd* found = nullptr;
  std::array<char, 4096> text{};
  ::getpwuid_r(user, &entry, text.data(), text.size(), &found);
  return found != nullptr ? found->pw_name : std::string();
}

// Root may write anywhere, but the service cannot open files that root creates in its folder.
base::Status check_owner(const DataDir& dir) {
  struct stat database {};
  if (::geteuid() != 0 || ::stat(dir.database.c_str(), &database) != 0 || database.st_uid == 0) return {};
  const std::string name = user_name(database.st_uid);
  const std::string owner = name.empty() ? "user " + std::to_string(database.st_uid) : name;
  return refused(dir.root,
                 "its database belongs to " + owner +
                     ", who could not open the files that root creates beside it; run this as that user" +
                     (name.empty() ? "" : " (runuser -u " + name + " -- millrace ...)") +
                     ", or chown -R the folder to root");
}

base::Status check_file_system(const std::string& path) {
  struct statfs fs {};
  if (::statfs(path.c_str(), &fs) != 0) return refused(path, std::string("statfs: ") + std::strerror(errno));
  const auto magic = static_cast<std::uint32_t>(fs.f_type);
  const FileSystemInfo kind = file_system_info(magic);
  switch (kind.support) {
    case FileSystem::kLocal:
      return {};
    case FileSystem::kUnknown:
      base::log_warn("store_file_system_unknown", {{"path", path}, {"magic", magic}});
      return {};
    case FileSystem::kRefused:
      break;
  }
  return refused(path,
                 "is on " + std::string(kind.name) +
                     ", where file locks and the write-ahead log do not work; set --data to a local disk");
}

// The pepper or the folder of blobs; empty: neither is there.
std::string pepper_or_blobs(const DataDir& dir) {
  std::error_code unreadable;
  if (std::filesystem::exists(dir.pepper, unreadable)) return dir.pepper;
  std::filesystem::recursive_directory_iterator entry(dir.blobs, unreadable);
  for (; !unreadable && entry != std::filesystem::end(entry); entry.increment(unreadable)) {
    // Copies of what is in a bucket show nothing.
    if (entry.depth() == 0 && entry->path().filename() == "cache") entry.disable_recursion_pending();
    if (entry->is_regular_file(unreadable)) return dir.blobs;
  }
  return {};
}

// A file that exists only after a store has been opened in this folder; empty if there is none.
std::string evidence_of_store(const DataDir& dir) {
  std::error_code unreadable;
  return std::filesystem::exists(dir.identity, unreadable) ? dir.identity : pepper_or_blobs(dir);
}

std::string lost_store_error(const DataDir& dir, const std::string& what, const std::string& evidence) {
  return dir.database + what + ", but " + evidence + " shows that there was a store; " +
         std::string(kRestoreBackup) + ", or move " + dir.root + " away to start with an empty store";
}

}  // namespace

bool has_pepper_or_blobs(const DataDir& dir) { return !pepper_or_blobs(dir).empty(); }

// Looks for the evidence first: another process may be creating the store just now, and it creates the
// database first.
std::string missing_database_error(const DataDir& dir) {
  const std::string evidence = evidence_of_store(dir);
  if (evidence.empty()) return {};
  std::error_code failed;
  const bool is_there = std::filesystem::exists(dir.database, failed);
  if (failed || (is_there && file_bytes(dir.database) > 0)) return {};
  if (!is_there && std::filesystem::exists(dir.database + kMovedSuffix, failed))
    return dir.database +
           " was copied to PostgreSQL: set store.url, or go back with `millrace store copy --to sqlite`";
  return lost_store_error(dir, is_there ? " is empty" : " is missing", evidence);
}

std::string empty_database_error(const DataDir& dir) {
  const std::string evidence = evidence_of_store(dir);
  return evidence.empty() ? std::string() : lost_store_error(dir, " has no tables", evidence);
}

base::Result<DataDir> open_data_dir(const std::string& root) {
  DataDir dir(root);
  if (auto own = check_owner(dir); !own) return own.error();
  std::error_code parents;  // make_folder reports the error with a better message
  std::filesystem::create_directories(std::filesystem::path(root).parent_path(), parents);
  if (auto made = make_folder(dir.root, 0711); !made) {
    // A restored copy without its database: the mode of the folder is not what is wrong.
    const std::string lost = missing_database_error(dir);
    return lost.empty() ? made.error() : base::error(base::Code::kInternal, lost);
  }
  if (auto local = check_file_system(dir.root); !local) return local.error();
  for (const std::string& folder : {dir.locks, dir.blobs}) {
    if (auto made = make_folder(folder, 0700); !made) return made.error();
  }
  return dir;
}

FileSystemInfo file_system_info(std::uint32_t magic) {
  for (const KnownFileSystem& known : kKnown) {
    if (known.magic == magic) return {known.support, known.name};
  }
  return {};
}

std::int64_t free_bytes(const std::string& folder) {
  struct statvfs fs {};
  if (::statvfs(folder.c_str(), &fs) != 0) return -1;
  return static_cast<std::int64_t>(fs.f_bavail) * static_cast<std::int64_t>(fs.f_frsize);
}

std::string mebibytes(std::int64_t bytes) { return std::to_string((bytes >> 20) + 1) + " MiB"; }

std::int64_t file_bytes(const std::string& path) {
  struct stat file {};
  return ::stat(path.c_str(), &file) == 0 ? static_cast<std::int64_t>(file.st_size) : 0;
}

FileStamp file_stamp(const std::string& path) {
  struct stat file {};
  if (::stat(path.c_str(), &file) != 0) return {};
  constexpr std::int64_t kSecond = 1'000'000'000;
  return {file.st_ino, static_cast<std::int64_t>(file.st_mtim.tv_sec) * kSecond + file.st_mtim.tv_nsec};
}

namespace {

struct IdentityFile {
  bool is_there = false;
  std::optional<base::Uuid> id;  // absent: the file has no valid id
};

IdentityFile read_file(const std::string& path) {
  std::error_code failed;
  IdentityFile file{.is_there = std::filesystem::exists(path, failed) || failed, .id = {}};
  std::string line;
  if (std::ifstream in(path); std::getline(in, line)) file.id = base::Uuid::parse(line);
  return file;
}

base::Error no_id(const DataDir& dir) {
  return base::error(base::Code::kInternal,
                     dir.identity + " has no valid id; if " + dir.database +
                         " is the right database, remove that file and start again to create a new one");
}

base::Error other_store(const DataDir& dir, const base::Uuid& row, const base::Uuid& file) {
  return base::error(base::Code::kInternal,
                     dir.database + " is the database of store " + row.str() + ", but " + dir.identity +
                         " belongs to store " + file.str() + "; put back the database of that store, " +
                         std::string(kRestoreBackup) +
                         ", or, to keep this database with these files, remove " + dir.identity);
}

base::Error not_written(const std::string& path) {
  return base::error(base::Code::kInternal, path + ": cannot be written: " + system_failure(errno));
}

// Two processes may do this at once; they write the same content. Store::open syncs the folder.
base::Status write_file(const DataDir& dir, const base::Uuid& id) {
  // The process id, because a fork copies the state of the random source; random bytes, because containers on
  // one volume may have the same process ids.
  const std::string draft =
      dir.identity + "." + std::to_string(::getpid()) + "." + base::hex(base::random_bytes(8));
  const std::string line = id.str() + "\n";
  const base::Fd file(::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  const bool is_written =
      file && ::write(file.get(), line.data(), line.size()) == static_cast<ssize_t>(line.size()) &&
      ::fsync(file.get()) == 0 && std::rename(draft.c_str(), dir.identity.c_str()) == 0;
  if (is_written) return {};
  base::Error error = not_written(draft);
  ::unlink(draft.c_str());
  return error;
}

}  // namespace

void insert_identity(Db& db, const DataDir& dir) {
  const IdentityFile file = read_file(dir.identity);
  if (file.is_there && !file.id) throw DbError{.message = no_id(dir).message};
  const auto now = std::chrono::time_point_cast<base::WallTime::duration>(std::chrono::system_clock::now());
  const base::Uuid id = file.id.value_or(base::Uuid::make(now));
  db.prepare("INSERT INTO identity (id) VALUES (?1)").bind(id).run();
}

std::string sqlite_owner(Db& db) { return identity_of(db).str() + ".sqlite"; }

base::Result<std::string> sqlite_owner(const DataDir& dir) {
  const IdentityFile file = read_file(dir.identity);
  if (file.id) return file.id->str() + ".sqlite";
  return base::error(base::Code::kNotFound, dir.root + " has no store yet");
}

base::Uuid identity_of(Db& db) {
  auto s = db.prepare("SELECT id FROM identity");
  if (!s.step()) throw sqlite_error(SQLITE_CORRUPT, "the store's identity is missing");
  return s.uuid(0);
}

base::Status check_identity(Db& db, const DataDir& dir, bool may_write) {
  const base::Uuid row = identity_of(db);
  const IdentityFile file = read_file(dir.identity);
  if (!file.is_there) return may_write ? write_file(dir, row) : base::Status();
  if (!file.id) return no_id(dir);
  return *file.id == row ? base::Status() : other_store(dir, row, *file.id);
}

}  // namespace millrace::storage
