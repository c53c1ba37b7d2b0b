#include "storage/sqlite/migrations.h"

#include <algorithm>
#include <filesystem>

#include <poll.h>

#include "platform/base/ids.h"
#include "platform/base/log.h"
#include "storage/backup/database_copy.h"
#include "storage/data_dir.h"
#include "storage/sqlite/database.h"
#include "storage/sqlite/errors.h"

namespace millrace::storage {

bool SchemaLock::share(std::chrono::milliseconds wait) {
  const auto end = std::chrono::steady_clock::now() + wait;
  while (!try_share()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    sleep_before_retry();
  }
  return true;
}

bool SchemaLock::try_exclude() {
  if (!file_.try_lock(LockFile::Mode::kExclusive)) return false;
  file_.record_owner();
  return true;
}

std::string SchemaLock::holders() const {
  const std::string seen = file_.visible_holders();
  return seen.empty() ? "a process that /proc/locks does not show here (in another container?)" : seen;
}

void sleep_before_retry() {
  const int jitter_ms = static_cast<unsigned char>(base::random_bytes(1).front()) % 10;
  ::poll(nullptr, 0, 3 + jitter_ms);
}

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kExclusiveWait{5'000};

enum class MigrationDue { kNo, kYes };

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
        migrations_(steps),
        bounds_(bounds),
        newest_(static_cast<int>(steps.size())) {}

  base::Status run() {
    if (!lock_.share(bounds_.wait)) return is_changed_elsewhere();
    auto due = read_version();
    if (!due) return due.error();
    if (*due == MigrationDue::kNo) return {};
    return migrate_until_done();
  }

 private:
  // Called with the lock shared; returns with it shared. The version is read again after every change of the
  // lock mode. It waits a short time for processes that have an older schema open, and for a process that
  // changes the schema as long as its backup may take.
  base::Status migrate_until_done() {
    auto end = steady_clock::now() + std::min(bounds_.wait, kExclusiveWait);
    while (true) {
      lock_.release();
      if (lock_.try_exclude()) {
        if (auto applied = apply(); !applied) return applied;
        lock_.release();
      }
      const auto wait_started = steady_clock::now();
      if (!lock_.share(bounds_.wait)) return is_changed_elsewhere();
      auto due = read_version();
      if (!due) return due.error();
      if (*due == MigrationDue::kNo) return {};
      end += steady_clock::now() - wait_started;
      if (steady_clock::now() >= end) return is_open_elsewhere();
      lock_.release();
      sleep_before_retry();
    }
  }

  // While the lock is shared, no process changes the schema. An empty file has no schema and is not opened,
  // because setting WAL mode on it needs the exclusive lock.
  base::Result<MigrationDue> read_version() {
    if (file_bytes(database_) == 0) return MigrationDue::kYes;
    try {
      SqliteDb db({.path = database_});
      return compare(user_version(db));
    } catch (const DbError& e) {
      if (e.is_busy()) return MigrationDue::kYes;
      return failed(e);
    }
  }

  base::Result<MigrationDue> compare(int version) const {
    if (version == newest_) return MigrationDue::kNo;
    if (version < newest_) return MigrationDue::kYes;
    const std::string backup = newest_schema_backup(database_, newest_);
    return base::error(base::Code::kInternal,
                       database_ + " has schema " + std::to_string(version) +
                           ", but this version of millrace knows only schema " + std::to_string(newest_) +
                           "; run the newer version, or restore a backup" +
                           (backup.empty() ? "" : ": " + backup) + " (docs/operations.md, Upgrade)");
  }

  base::Status apply() try {
    SqliteDb db({.path = database_});
    const int found = user_version(db);
    auto due = compare(found);
    if (!due || *due == MigrationDue::kNo) return due ? base::Status() : due.error();
    if (found == 0) {
      if (auto fresh = check_fresh(db); !fresh) return fresh;
    }
    auto kept = back_up_schema(db, database_, found, bounds_.disk_free_min_bytes);
    if (!kept) return kept;
    for (const Migration& step : migrations_) {
      if (step.number <= user_version(db)) continue;
      apply_step(db, step);
      if (found > 0) base::log_info("store_migrated", {{"schema", step.number}, {"name", step.name}});
    }
    if (found == 0) base::log_info("store_created", {{"schema", newest_}});
    return {};
  } catch (const DbError& e) {
    return failed(e);
  }

  // Never creates a schema in a file that may belong to another store or another program.
  base::Status check_fresh(Db& db) const {
    auto s = db.prepare("SELECT count(*) FROM sqlite_schema");
    s.step();
    if (s.integer(0) > 0) {
      return base::error(base::Code::kInternal,
                         database_ + " contains tables of another program; set --data to another folder");
    }
    const std::string lost = empty_database_error(dir_);
    return lost.empty() ? base::Status() : base::error(base::Code::kInternal, lost);
  }

  void apply_step(Db& db, const Migration& step) const {
    db.execute("BEGIN IMMEDIATE");
    db.script(step.sql);
    if (step.number == kIdentitySchema) insert_identity(db, dir_);
    db.script("PRAGMA user_version = " + std::to_string(step.number));
    db.execute("COMMIT");
  }

  base::Error failed(const DbError& e) const { return cannot_open(database_, e); }
  base::Error is_changed_elsewhere() const {
    return base::error(
        base::Code::kInternal,
        database_ + ": " + lock_.holders() + " is changing its schema; start again when it has finished");
  }
  base::Error is_open_elsewhere() const {
    return base::error(base::Code::kInternal, database_ + ": " + lock_.holders() +
                                                  " has an older schema open; stop it and start again");
  }

  const std::string& database_;
  const DataDir dir_;
  SchemaLock& lock_;
  std::span<const Migration> migrations_;
  MigrationBounds bounds_;
  int newest_;
};

}  // namespace

base::Status migrate(const std::string& database, SchemaLock& lock, std::span<const Migration> steps,
                     MigrationBounds bounds) {
  return Migrator(database, lock, steps, bounds).run();
}

}  // namespace millrace::storage
