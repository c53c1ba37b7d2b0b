#include "storage/identity.h"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include "platform/base/crypto.h"
#include "platform/base/fd.h"
#include "storage/open_failure.h"

namespace millrace::storage {
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
                     dir.identity + " has no id that can be read; if " + dir.database +
                         " is the right database, remove that file and start again: it is made anew");
}

base::Error other_store(const DataDir& dir, const base::Uuid& row, const base::Uuid& file) {
  return base::error(base::Code::kInternal,
                     dir.database + " is the database of store " + row.str() + ", but " + dir.identity +
                         " says that this is store " + file.str() + "; put its own database back, " +
                         std::string(kRestoreBackup) +
                         ", or, to keep this database with these files, remove " + dir.identity);
}

base::Error not_written(const std::string& path) {
  return base::error(base::Code::kInternal, path + ": cannot be written: " + system_failure(errno));
}

// Two processes may do this at once; they write the same content. Store::open syncs the folder.
base::Status write_file(const DataDir& dir, const base::Uuid& id) {
  const std::string draft = dir.identity + "." + base::hex(base::random_bytes(8));
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
  if (file.is_there && !file.id) throw SqliteError{SQLITE_MISMATCH, no_id(dir).message};
  const auto now = std::chrono::time_point_cast<base::WallTime::duration>(std::chrono::system_clock::now());
  db.prepare("INSERT INTO identity (id) VALUES (?1)").bind(file.id.value_or(base::Uuid::make(now))).run();
}

base::Uuid identity_of(Db& db) {
  auto s = db.prepare("SELECT id FROM identity");
  if (!s.step()) throw SqliteError{SQLITE_CORRUPT, "the store's identity is missing"};
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
