#include "storage/group.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <optional>
#include <utility>

#include <sqlite3.h>

#include "platform/base/log.h"
#include "storage/failures.h"

namespace millrace::storage {
namespace {

constexpr std::size_t kUsualGroup = 64;  // initial capacity, in operations

void roll_back(Db& db) {
  db.forget_pending();
  if (sqlite3_get_autocommit(db.handle()) != 0) return;  // SQLite has already rolled back
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
  operations_.reserve(kUsualGroup);
  std::optional<SqliteError> failure;
  if (run_together(failure)) return true;
  if (begun_) {
    run_alone();
  } else {
    context_.queue.take(operations_, room_);
    outcomes_.assign(size(), store_error(*failure));
    stands_for_.assign(size(), {});
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
  commit_record.changes.reserve(kUsualGroup);
  commit_record.ready.reserve(kUsualGroup);
  Tx tx{db, now, boot, context_.boot_id, commit_record, context_.clocks.trust()};
  try {
    f(tx);
    db.write_pending();
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
      ask_standing(tx);
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

// Runs the operations that have arrived. False: none has arrived, or the group is full.
bool Group::collect(Tx& tx) {
  if (room_.operations == 0) return false;
  const std::size_t first = size();
  if (context_.queue.take(operations_, room_) == 0) return false;
  for (std::size_t i = first; i < size(); ++i) run_at(i, tx);
  return true;
}

void Group::run_at(std::size_t index, Tx& tx) {
  outcomes_.resize(size());
  stands_for_.resize(size());
  tx.stands_for.reset();
  outcomes_[index] = operations_[index].operation(tx);
  stands_for_[index] = tx.stands_for;
}

// Runs parked operations again: first those of this group, then those of earlier groups, which join this one.
// They may be parked again.
void Group::ask_standing(Tx& tx) {
  std::vector<Standing>& standing = context_.standing;
  const auto has_word_for = [&](schemas::Kind kind) {
    const auto is_kind = [&](const Ready& job) { return job.job.kind == kind; };
    return tx.ask_standing || std::ranges::any_of(tx.commit.ready, is_kind);
  };
  for (std::size_t i = 0; i < outcomes_.size(); ++i) {
    if (stands_for_[i] && outcomes_[i] && has_word_for(*stands_for_[i])) run_at(i, tx);
  }
  for (std::size_t i = 0; i < standing.size();) {
    if (!has_word_for(standing[i].kind)) {
      ++i;
      continue;
    }
    operations_.push_back(std::move(standing[i].order));
    standing.erase(standing.begin() + static_cast<std::ptrdiff_t>(i));
    run_at(size() - 1, tx);
  }
}

// Parked operations run last, so that they find what the others made ready.
void Group::run_alone() {
  const std::size_t own = size();
  for (Standing& standing : context_.standing) operations_.push_back(std::move(standing.order));
  context_.standing.clear();
  outcomes_.assign(size(), {});
  stands_for_.assign(size(), {});
  for (const auto priority :
       {Writer::Priority::kUrgent, Writer::Priority::kAsked, Writer::Priority::kNormal}) {
    for (std::size_t i = 0; i < own; ++i) {
      if (operations_[i].priority == priority) outcomes_[i] = attempt(i);
    }
  }
  for (std::size_t i = 0; i < size(); ++i) {
    const bool stands = stands_for_[i] && outcomes_[i];
    if (stands || i >= own) outcomes_[i] = attempt(i);
  }
}

base::Status Group::attempt(std::size_t index) {
  try {
    transaction([&](Tx& tx) { run_at(index, tx); });
    return std::move(outcomes_[index]);
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
    if (stands_for_[i] && outcomes_[i]) {
      context_.standing.push_back({std::move(operations_[i]), *stands_for_[i]});
    } else {
      out.answers.push_back({std::move(operations_[i]), std::move(outcomes_[i])});
    }
  }
  if (commits_.size() == 1) {
    out.commit = std::move(commits_.front());
    return out;
  }
  for (Commit& c : commits_) {
    std::move(c.changes.begin(), c.changes.end(), std::back_inserter(out.commit.changes));
    std::move(c.ready.begin(), c.ready.end(), std::back_inserter(out.commit.ready));
    std::move(c.asked_to_stop.begin(), c.asked_to_stop.end(), std::back_inserter(out.commit.asked_to_stop));
  }
  return out;
}

}  // namespace millrace::storage
