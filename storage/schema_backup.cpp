#include "storage/schema_backup.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>

#include <sys/stat.h>

#include "platform/base/log.h"
#include "storage/data_dir.h"
#include "storage/database_copy.h"

namespace millrace::storage {
namespace {

std::string backup_folder(const std::string& database) {
  return (std::filesystem::path(database).parent_path() / "backups").string();
}

base::Error no_backup(const std::string& what) {
  return base::error(base::Code::kInternal, "no backup before the schema changes: " + what);
}

base::Status make_backup_folder(const std::string& folder) {
  if (::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST) return {};
  return no_backup(folder + ": " + std::strerror(errno));
}

base::Status check_room(const std::string& folder, std::int64_t bytes, std::int64_t disk_free_min_bytes) {
  const std::int64_t free = free_bytes(folder);
  if (free < 0 || free >= bytes + disk_free_min_bytes) return {};
  return no_backup(folder + " has " + mebibytes(free) + " free; the copy takes " + mebibytes(bytes) +
                   " and store.disk_free_min wants " + mebibytes(disk_free_min_bytes) +
                   " left; make room, or set store.disk_free_min lower");
}

}  // namespace

std::string schema_backup(const std::string& database, int schema) {
  return backup_folder(database) + "/millrace-v" + std::to_string(schema) + ".db";
}

base::Status back_up_schema(Db& db, const std::string& database, int schema,
                            std::int64_t disk_free_min_bytes) {
  if (schema == 0) return {};
  const std::string folder = backup_folder(database);
  if (auto made = make_backup_folder(folder); !made) return made;
  const std::int64_t bytes = copy_bytes(db);
  if (auto room = check_room(folder, bytes, disk_free_min_bytes); !room) return room;
  const auto begun = std::chrono::steady_clock::now();
  const std::string file = schema_backup(database, schema);
  copy_database(db, file);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
  base::log_info("store_backed_up",
                 {{"file", file}, {"schema", schema}, {"bytes", bytes}, {"seconds", took.count()}});
  return {};
}

std::string newest_schema_backup(const std::string& database, int newest) {
  for (int schema = newest; schema > 0; --schema) {
    std::error_code unreadable;
    std::string file = schema_backup(database, schema);
    if (std::filesystem::exists(file, unreadable)) return file;
  }
  return {};
}

}  // namespace millrace::storage
