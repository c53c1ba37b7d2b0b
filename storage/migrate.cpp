#include "storage/migrate.h"

#include <algorithm>
#include <filesystem>

#include "platform/base/log.h"
#include "storage/data_dir.h"
#include "storage/identity.h"
#include "storage/open_failure.h"
#include "storage/schema_backup.h"
#include "storage/sqlite.h"

namespace millrace::storage {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kExclusiveWait{5'000};

enum class Due { kNo, kYes };

int user_version(Db& db) {
  auto s = db.prepare("PRAGMA user_version");
  s.step();
  return static_cast<int>(s.integer(0));
}

class Migrator {
 public:
  Migrator(const std::string& database, SchemaLock& lock, std::span<const Migration> steps,
           MigrationBounds bounds)
      : database_(database),
        dir_(std::filesystem::path(database).parent_path()),
        lock_(lock),
        steps_(steps),
        bounds_(bounds),
        newest_(static_cast<int>(steps.size())) {}

  base::Status run() {
    if (!lock_.share(bounds_.wait)) return is_changed_elsewhere();
    auto due = look();
    if (!due) return due.error();
    if (*due == Due::kNo) return {};
    return until_nothing_is_due();
  }

 private:
  // Called with the lock shared; returns with it shared. The version is read again after every change of the
  // lock mode. It waits a short time for processes that have an older schema open, and for a process that
  // changes the schema as long as its backup may take.
  base::Status until_nothing_is_due() {
    auto end = steady_clock::now() + std::min(bounds_.wait, kExclusiveWait);
    while (true) {
      lock_.release();
      if (lock_.try_exclude()) {
        if (auto applied = apply(); !applied) return applied;
        lock_.release();
      }
      const auto asked = steady_clock::now();
      if (!lock_.share(bounds_.wait)) return is_changed_elsewhere();
      auto due = look();
      if (!due) return due.error();
      if (*due == Due::kNo) return {};
      end += steady_clock::now() - asked;
      if (steady_clock::now() >= end) return is_open_elsewhere();
      lock_.release();
      pause_before_asking_again();
    }
  }

  // While the lock is shared, no process changes the schema. An empty file has no schema and is not opened,
  // because setting WAL mode on it needs the exclusive lock.
  base::Result<Due> look() {
    if (file_bytes(database_) == 0) return Due::kYes;
    try {
      Db db({.path = database_});
      return judge(user_version(db));
    } catch (const SqliteError& e) {
      if (e.is_busy()) return Due::kYes;
      return failed(e);
    }
  }

  base::Result<Due> judge(int version) const {
    if (version == newest_) return Due::kNo;
    if (version < newest_) return Due::kYes;
    const std::string backup = newest_schema_backup(database_, newest_);
    return base::error(base::Code::kInternal,
                       database_ + " has schema " + std::to_string(version) + ", this millrace knows " +
                           std::to_string(newest_) + "; run the newer millrace, or restore a backup" +
                           (backup.empty() ? "" : ": " + backup) + " (docs/operations.md, Upgrade)");
  }

  base::Status apply() try {
    Db db({.path = database_});
    const int found = user_version(db);
    auto due = judge(found);
    if (!due || *due == Due::kNo) return due ? base::Status() : due.error();
    if (found == 0) {
      if (auto fresh = check_fresh(db); !fresh) return fresh;
    }
    auto kept = back_up_schema(db, database_, found, bounds_.disk_free_min_bytes);
    if (!kept) return kept;
    for (const Migration& step : steps_) {
      if (step.number <= user_version(db)) continue;
      take(db, step);
      if (found > 0) base::log_info("store_migrated", {{"schema", step.number}, {"name", step.name}});
    }
    if (found == 0) base::log_info("store_made", {{"schema", newest_}});
    return {};
  } catch (const SqliteError& e) {
    return failed(e);
  }

  // Never creates a schema in a file that may belong to another store or another program.
  base::Status check_fresh(Db& db) const {
    auto s = db.prepare("SELECT count(*) FROM sqlite_schema");
    s.step();
    if (s.integer(0) > 0) {
      return base::error(base::Code::kInternal,
                         database_ + " has tables, but none of millrace's; set --data to another folder");
    }
    const std::string lost = emptied_database(dir_);
    return lost.empty() ? base::Status() : base::error(base::Code::kInternal, lost);
  }

  void take(Db& db, const Migration& step) const {
    db.execute("BEGIN IMMEDIATE");
    db.script(step.sql);
    if (step.number == kIdentitySchema) insert_identity(db, dir_);
    db.script("PRAGMA user_version = " + std::to_string(step.number));
    db.execute("COMMIT");
  }

  base::Error failed(const SqliteError& e) const { return cannot_open(database_, e); }
  base::Error is_changed_elsewhere() const {
    return base::error(base::Code::kInternal, database_ + ": " + lock_.holders() +
                                                  " changes its schema; start again when it is ready");
  }
  base::Error is_open_elsewhere() const {
    return base::error(base::Code::kInternal, database_ + ": " + lock_.holders() +
                                                  " has an older schema open; stop it and start again");
  }

  const std::string& database_;
  const DataDir dir_;
  SchemaLock& lock_;
  std::span<const Migration> steps_;
  MigrationBounds bounds_;
  int newest_;
};

}  // namespace

base::Status migrate(const std::string& database, SchemaLock& lock, std::span<const Migration> steps,
                     MigrationBounds bounds) {
  return Migrator(database, lock, steps, bounds).run();
}

}  // namespace millrace::storage
