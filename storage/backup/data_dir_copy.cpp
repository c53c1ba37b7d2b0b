#include "storage/backup/data_dir_copy.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "platform/base/log.h"
#include "storage/backup/database_copy.h"
#include "storage/blobs/blob_files.h"
#include "storage/data_dir.h"

namespace millrace::storage {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 9> kExcluded = {
    "locks", "workers", "ssh", "engines", "backups", "machines", "lost+found", "missing-commits", "host-id"};

base::Error copy_error(const std::string& path, const std::string& why) {
  return base::error(base::Code::kInternal, "backup: " + path + ": " + why);
}

bool is_excluded(const std::string& name, BlobPlace blobs) {
  return (name == "blobs" && blobs == BlobPlace::kElsewhere) || name.starts_with("millrace.db") ||
         name.ends_with(".new") || std::find(kExcluded.begin(), kExcluded.end(), name) != kExcluded.end();
}

// Visits every folder and file of the data directory that is copied, folders before their content. `visit`
// returns false to stop.
template <class Visit>
bool each_entry(const fs::path& data_dir, BlobPlace blobs, const Visit& visit) {
  constexpr auto kBehindLinks = fs::directory_options::follow_directory_symlink;
  for (auto at = fs::recursive_directory_iterator(data_dir, kBehindLinks);
       at != fs::recursive_directory_iterator(); ++at) {
    const std::string name = at->path().filename().string();
    const bool is_out = at.depth() == 0 ? is_excluded(name, blobs) : name == kIncomingFolder;
    if (is_out && at->is_directory()) at.disable_recursion_pending();
    if (!is_out && !visit(*at)) return false;
  }
  return true;
}

class Copier {
 public:
  Copier(const std::string& from, const std::string& to, BlobPlace blobs)
      : from_(from), to_(to), blobs_(blobs) {}

  base::Result<DataDirCopy> run() {
    if (auto files = copy_files(); !files) return files.error();
    SqliteDb db({.path = DataDir(from_).database, .mode = SqliteDb::Mode::kReader});
    const std::string database = DataDir(to_).database;
    copy_database(db, database);
    copy_.database_bytes = file_bytes(database);
    SqliteDb taken({.path = database});
    if (blobs_ == BlobPlace::kElsewhere) return copy_;
    if (auto rest = copy_referenced_blobs(taken); !rest) return rest.error();
    return copy_;
  }

 private:
  // Files that are created meanwhile and referenced by the copied database are copied afterwards.
  base::Status copy_files() {
    base::Status done;
    each_entry(from_, blobs_, [&](const fs::directory_entry& entry) {
      if (entry.is_directory()) make_folder_like(entry.path());
      if (entry.is_regular_file()) done = copy_one(entry.path().lexically_relative(from_).string());
      return done.has_value();
    });
    return done;
  }

  void make_folder_like(const fs::path& folder) {
    const fs::path target = to_ / folder.lexically_relative(from_);
    fs::create_directories(target);
    fs::permissions(target, fs::status(folder).permissions());
  }

  base::Status copy_referenced_blobs(Db& taken) {
    auto s = taken.prepare("SELECT path FROM blobs WHERE refs > 0");
    while (s.step()) {
      const std::string name = "blobs/" + s.text(0);
      if (fs::exists(to_ / name)) continue;
      if (auto done = copy_one(name); !done) return done;
      if (!fs::exists(to_ / name)) ++copy_.gone;
    }
    return {};
  }

  // A file that is removed meanwhile is not an error.
  base::Status copy_one(const std::string& name) {
    const fs::path target = to_ / name;
    fs::create_directories(target.parent_path());
    std::error_code failed;
    fs::copy_file(from_ / name, target, fs::copy_options::overwrite_existing, failed);
    if (failed == std::errc::no_such_file_or_directory) return {};
    if (failed) return copy_error(target.string(), failed.message());
    ++copy_.files;
    copy_.file_bytes += file_bytes(target.string());
    return {};
  }

  const fs::path from_, to_;
  const BlobPlace blobs_;
  DataDirCopy copy_;
};

constexpr std::string_view kTemporary = ".new-XXXXXX";
constexpr mode_t kCopyMode = 0711;       // of a complete backup
constexpr mode_t kTemporaryMode = 0710;  // no backup or data directory has it
constexpr mode_t kModeBits = 07777;

base::Status sync_all(const std::string& folder) {
  const OpenFile file(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (file.fd() >= 0 && ::syncfs(file.fd()) == 0) return {};
  return copy_error(folder, std::strerror(errno));
}

base::Status move_to_target(const std::string& temporary, const std::string& target) {
  if (::chmod(temporary.c_str(), kCopyMode) != 0) return copy_error(temporary, std::strerror(errno));
  if (auto synced = sync_all(temporary); !synced) return synced;
  if (std::rename(temporary.c_str(), target.c_str()) != 0) return copy_error(target, std::strerror(errno));
  return sync_folder(fs::path(target).parent_path().string());
}

bool is_temporary(const std::string& path) {
  struct stat found {};
  return path.size() > kTemporary.size() &&
         std::string_view(path).substr(path.size() - kTemporary.size()).starts_with(".new-") &&
         ::lstat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode) && found.st_uid == ::geteuid() &&
         (found.st_mode & kModeBits) == kTemporaryMode;
}

OpenFile open_folder(const std::string& path) {
  return OpenFile(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

bool try_lock(const OpenFile& folder) {
  return folder.fd() >= 0 && ::flock(folder.fd(), LOCK_EX | LOCK_NB) == 0;
}

// Removes the temporary folders in `parent` whose process was killed.
void sweep_temporary(const fs::path& parent) {
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(parent, failed)) {
    const std::string path = entry.path().string();
    if (!is_temporary(path)) continue;
    const OpenFile folder = open_folder(path);
    if (!try_lock(folder)) continue;
    if (fs::remove_all(path, failed) > 0 && !failed)
      base::log_info("backup_leftover_removed", {{"folder", path}});
  }
}

// A new folder with a unique name beside `target`. The destructor removes it, unless it was moved to its
// target. It is locked before it gets the mode that `sweep_temporary` looks for.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const fs::path& target) : path_(target.string().append(kTemporary)) {
    if (::mkdtemp(path_.data()) == nullptr) fail();
    folder_ = open_folder(path_);
    static_cast<void>(try_lock(folder_));  // a file system without locks has no sweep, either
    if (::chmod(path_.c_str(), kTemporaryMode) != 0) fail();
  }
  ~TemporaryFolder() {
    std::error_code failed;
    fs::remove_all(path_, failed);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  [[noreturn]] void fail() const {
    throw fs::filesystem_error("cannot be created", path_, std::error_code(errno, std::generic_category()));
  }

  std::string path_;
  OpenFile folder_;
};

fs::path whole_path(const fs::path& path) {
  const fs::path whole = fs::weakly_canonical(fs::absolute(path));
  return whole.has_filename() ? whole : whole.parent_path();
}

bool is_within(const fs::path& path, const fs::path& folder) {
  const auto [in_folder, in_path] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return in_folder == folder.end();
}

// Everything in the data directory except backups/ would be copied itself.
base::Status check_target(const fs::path& target_path, const fs::path& data_dir) {
  if (is_within(target_path, data_dir) && !is_within(target_path.parent_path(), data_dir / "backups"))
    return copy_error(target_path.string(),
                      "is in the data directory; choose a folder in its backups/, or outside");
  if (fs::exists(target_path) && !fs::is_empty(target_path))
    return copy_error(target_path.string(), "already exists; choose a folder that does not exist");
  return {};
}

std::int64_t bytes_to_copy(const fs::path& data_dir, BlobPlace blobs) {
  SqliteDb db({.path = DataDir(data_dir).database, .mode = SqliteDb::Mode::kReader});
  std::int64_t bytes = copy_bytes(db);
  each_entry(data_dir, blobs, [&](const fs::directory_entry& entry) {
    if (entry.is_regular_file()) bytes += std::max<std::int64_t>(file_bytes(entry.path().string()), 0);
    return true;
  });
  return bytes;
}

bool is_one_disk(const fs::path& one, const fs::path& other) {
  struct stat a {
  }, b{};
  return ::stat(one.c_str(), &a) == 0 && ::stat(other.c_str(), &b) == 0 && a.st_dev == b.st_dev;
}

// Free space is measured at the nearest existing folder.
base::Status check_free_space(const fs::path& target_path, const fs::path& data_dir,
                              std::int64_t keep_free_bytes, BlobPlace blobs) {
  fs::path folder = target_path;
  while (!fs::exists(folder)) folder = folder.parent_path();
  const std::int64_t left = is_one_disk(folder, data_dir) ? keep_free_bytes : 0;
  const std::int64_t needed = bytes_to_copy(data_dir, blobs), free = free_bytes(folder.string());
  if (free < 0 || free - left >= needed) return {};
  std::string why = mebibytes(needed + left - free) + " more are needed: the copy takes " +
                    mebibytes(needed) + ", free space is " + mebibytes(free);
  if (left > 0) why += ", of which store.disk_free_min reserves " + mebibytes(left);
  return copy_error(target_path.string(), why + "; free some space, or choose another disk");
}

void make_parent(const fs::path& parent) {
  if (fs::create_directories(parent)) fs::permissions(parent, fs::perms::owner_all);
}

}  // namespace

base::Result<DataDirCopy> copy_data_dir(const std::string& data_dir, const std::string& target,
                                        std::int64_t keep_free_bytes, BlobPlace blobs) try {
  const fs::path target_path = whole_path(target);
  if (auto checked = check_target(target_path, whole_path(data_dir)); !checked) return checked.error();
  if (auto space = check_free_space(target_path, data_dir, keep_free_bytes, blobs); !space)
    return space.error();
  make_parent(target_path.parent_path());
  sweep_temporary(target_path.parent_path());
  const TemporaryFolder temporary(target_path);
  auto copied = Copier(data_dir, temporary.path(), blobs).run();
  if (!copied) return copied.error();
  if (auto placed = move_to_target(temporary.path(), target_path.string()); !placed) return placed.error();
  return copied;
} catch (const DbError& e) {
  return copy_error(target, e.message);
} catch (const fs::filesystem_error& e) {
  return copy_error(e.path1().empty() ? target : e.path1().string(), e.code().message());
}

}  // namespace millrace::storage
