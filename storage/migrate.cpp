#include "storage/migrate.h"

#include <algorithm>

#include "platform/base/log.h"
#include "storage/data_dir.h"
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
  Migrator(const std::string& database, SchemaLock& lock, std::span<const Migration> steps)
      : database_(database), lock_(lock), steps_(steps), newest_(static_cast<int>(steps.size())) {}

  base::Status run(milliseconds wait) {
    if (!lock_.share(wait)) return busy("changes its schema");
    auto due = look();
    if (!due) return due.error();
    if (*due == Due::kNo) return {};
    return until_nothing_is_due(std::min(wait, kExclusiveWait));
  }

 private:
  // Called with the lock shared, returns with it shared. The version is read again after every change of
  // mode.
  base::Status until_nothing_is_due(milliseconds wait) {
    const auto end = steady_clock::now() + wait;
    while (true) {
      lock_.release();
      if (lock_.try_exclude()) {
        if (auto applied = apply(); !applied) return applied;
        lock_.release();
      }
      if (lock_.share(wait)) {
        auto due = look();
        if (!due) return due.error();
        if (*due == Due::kNo) return {};
      }
      if (steady_clock::now() >= end) return busy("has an older schema open");
      lock_.release();
      pause_before_asking_again();
    }
  }

  // Under the shared lock nobody changes the schema. A file without content has none and is not opened:
  // setting WAL on it belongs to the exclusive lock.
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
    return base::error(base::Code::kInternal, database_ + " has schema " + std::to_string(version) +
                                                  ", this millrace knows " + std::to_string(newest_) +
                                                  "; run the newer millrace, or restore a backup");
  }

  base::Status apply() try {
    Db db({.path = database_});
    auto due = judge(user_version(db));
    if (!due) return due.error();
    for (const Migration& step : steps_) {
      if (step.number > user_version(db)) take(db, step);
    }
    return {};
  } catch (const SqliteError& e) {
    return failed(e);
  }

  static void take(Db& db, const Migration& step) {
    db.execute("BEGIN IMMEDIATE");
    db.script(step.sql);
    db.script("PRAGMA user_version = " + std::to_string(step.number));
    db.execute("COMMIT");
    base::log_info("store_migrated", {{"schema", step.number}, {"name", step.name}});
  }

  base::Error failed(const SqliteError& e) const {
    return base::error(base::Code::kInternal, database_ + ": " + e.message);
  }
  base::Error busy(const std::string& what) const {
    return base::error(base::Code::kInternal,
                       database_ + ": " + lock_.holders() + " " + what + "; stop it and start again");
  }

  const std::string& database_;
  SchemaLock& lock_;
  std::span<const Migration> steps_;
  int newest_;
};

}  // namespace

base::Status migrate(const std::string& database, SchemaLock& lock, std::span<const Migration> steps,
                     milliseconds wait) {
  return Migrator(database, lock, steps).run(wait);
}

}  // namespace millrace::storage
