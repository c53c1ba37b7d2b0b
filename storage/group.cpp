#include "storage/group.h"

#include <exception>
#include <iterator>
#include <optional>
#include <utility>

#include <sqlite3.h>

#include "platform/base/log.h"
#include "storage/failures.h"

namespace millrace::storage {
namespace {

void roll_back(Db& db) {
  if (sqlite3_get_autocommit(db.handle()) != 0) return;  // SQLite has done it itself
  try {
    db.prepare("ROLLBACK").run();
  } catch (const SqliteError& e) {
    die_of_commit(e);
  }
}

void commit(Db& db) {
  try {
    db.prepare("COMMIT").run();
  } catch (const SqliteError& e) {
    if (!e.is_full()) die_of_commit(e);
    throw;
  }
}

}  // namespace

bool Group::run() {
  std::optional<SqliteError> failure;
  if (run_together(failure)) return true;
  if (begun_) {
    run_alone();
  } else {
    context_.queue.take(operations_, room_);
    outcomes_.assign(size(), store_error(*failure));
  }
  return false;
}

template <class F>
void Group::transaction(F&& f) {
  Db& db = context_.db;
  db.prepare("BEGIN IMMEDIATE").run();
  begun_ = true;
  const base::WallTime now = context_.clock.wall();
  const base::BootTime boot = context_.clock.boot();
  context_.clocks.group_begins(now, boot);
  Commit commit_record;
  Tx tx{db, now, boot, context_.boot_id, commit_record, context_.clocks.trust()};
  try {
    f(tx);
    commit(db);
  } catch (...) {
    roll_back(db);
    throw;
  }
  context_.clocks.group_committed(boot);
  commits_.push_back(std::move(commit_record));
}

bool Group::run_together(std::optional<SqliteError>& failure) {
  try {
    transaction([this](Tx& tx) {
      const auto end = std::chrono::steady_clock::now() + context_.limits.wait_max;
      while (collect(tx) && std::chrono::steady_clock::now() < end) {
      }
    });
    return true;
  } catch (const SqliteError& e) {
    base::log_warn("store_group_failed", {{"operations", size()}, {"code", e.code}, {"error", e.message}});
    failure = e;
  } catch (const std::exception& e) {
    base::log_error("store_group_failed", {{"operations", size()}, {"error", e.what()}});
  }
  return false;
}

// Runs what has arrived. False: nothing more has, or the group is full.
bool Group::collect(Tx& tx) {
  if (room_.operations == 0) return false;
  const std::size_t first = size();
  if (context_.queue.take(operations_, room_) == 0) return false;
  for (std::size_t i = first; i < size(); ++i) outcomes_.push_back(operations_[i].operation(tx));
  return true;
}

void Group::run_alone() {
  outcomes_.assign(size(), {});
  for (const auto priority :
       {Writer::Priority::kUrgent, Writer::Priority::kAsked, Writer::Priority::kNormal}) {
    for (std::size_t i = 0; i < size(); ++i) {
      if (operations_[i].priority == priority) outcomes_[i] = attempt(operations_[i]);
    }
  }
}

base::Status Group::attempt(Queued& operation) {
  base::Status status;
  try {
    transaction([&](Tx& tx) { status = operation.operation(tx); });
    return status;
  } catch (const SqliteError& e) {
    return store_error(e);
  } catch (const std::exception& e) {
    base::log_error("store_operation_threw", {{"error", e.what()}});
    return base::error(base::Code::kInternal, "the store could not do it");
  }
}

Announcement Group::announcement() {
  Announcement out;
  out.answers.reserve(size());
  for (std::size_t i = 0; i < size(); ++i) {
    out.answers.push_back({std::move(operations_[i].done), std::move(outcomes_[i])});
  }
  for (Commit& c : commits_) {
    std::move(c.changes.begin(), c.changes.end(), std::back_inserter(out.commit.changes));
    std::move(c.ready.begin(), c.ready.end(), std::back_inserter(out.commit.ready));
  }
  return out;
}

}  // namespace millrace::storage
