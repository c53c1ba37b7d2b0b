#include "storage/sqlite/checkpointer.h"

#include <utility>

#include <sqlite3.h>

#include "platform/base/log.h"
#include "storage/data_dir.h"

namespace millrace::storage {
namespace {

constexpr int kBusyMs = 5;  // how long a restart may wait for readers while writers are blocked
constexpr int kCatchUpRounds = 8;
constexpr int kBusyRetries = 8;
constexpr int kFramesLeftMax = 128;  // pages that may still have to be copied while writers are blocked
constexpr std::int64_t kFrameBytes = kPageBytes + 24;  // a database page and its header in the log
constexpr std::int64_t kTruncateFactor = 4;            // a file of this many times the limit is truncated

}  // namespace

base::Result<std::unique_ptr<Checkpointer>> Checkpointer::open(Options options, LastCommit& last_commit) {
  auto leader_lock = LockFile::open(options.locks + "/checkpoint.lock");
  if (!leader_lock) return leader_lock.error();
  auto write_lock = FairWriteLock::open(options.locks);
  if (!write_lock) return write_lock.error();
  return std::unique_ptr<Checkpointer>(
      new Checkpointer(std::move(options), last_commit, std::move(*leader_lock), std::move(*write_lock)));
}

Checkpointer::Checkpointer(Options options, LastCommit& last_commit, LockFile leader_lock,
                           std::unique_ptr<FairWriteLock> write_lock)
    : options_(std::move(options)),
      last_commit_(last_commit),
      leader_lock_(std::move(leader_lock)),
      write_lock_(std::move(write_lock)),
      db_({.path = options_.database, .cache_kib = 1024}) {
  db_.prepare("SELECT count(*) FROM sqlite_schema").run();
  sqlite3_busy_timeout(db_.handle(), kBusyMs);
  thread_ = std::jthread([this](std::stop_token stop) { run(std::move(stop)); });
}

void Checkpointer::stop() {
  thread_.request_stop();
  write_lock_->interrupt();
  if (!thread_.joinable()) return;
  thread_.join();
  if (dirty_) run_round();
}

void Checkpointer::committed(int log_frames) {
  const bool became_too_long =
      log_frames * kFrameBytes > options_.wal_max_bytes && !log_too_long_.exchange(true);
  if (dirty_.exchange(true) && !became_too_long) return;
  std::lock_guard lock(mutex_);
  changed_.notify_one();
}

Checkpointer::Counts Checkpointer::counts() const { return {checkpoints_, restarts_, failures_}; }

void Checkpointer::run(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [this] { return dirty_.load(); })) {
    changed_.wait_for(lock, stop, options_.interval, [this] { return log_too_long_ && !could_not_restart_; });
    if (stop.stop_requested()) return;
    dirty_ = false;
    log_too_long_ = false;
    lock.unlock();
    const bool again = !run_round();
    lock.lock();
    if (again) dirty_ = true;
  }
}

// False: another process runs the checkpoints now; try again later.
bool Checkpointer::run_round() {
  could_not_restart_ = true;
  if (!leader_lock_.try_lock(LockFile::Mode::kExclusive)) return false;
  leader_lock_.record_owner();
  try {
    could_not_restart_ = !checkpoint();
  } catch (const DbError& e) {
    ++failures_;
    base::log_error("store_checkpoint_failed", {{"code", e.code}, {"error", e.message}});
  }
  leader_lock_.unlock();
  return true;
}

// False: the log is too long and could not be restarted.
bool Checkpointer::checkpoint() {
  const Log log = copy();
  ++checkpoints_;
  if (log.busy) return false;
  if (log.frames * kFrameBytes <= options_.wal_max_bytes) return true;
  const bool restarted = restart_log(log.copied);
  log_too_long_ = false;  // reports that came in meanwhile were about the old log
  return restarted;
}

bool Checkpointer::restart_log(int copied) {
  if (!catch_up(copied)) return false;
  const bool too_long = file_bytes(options_.database + "-wal") > kTruncateFactor * options_.wal_max_bytes;
  if (!write_lock_->acquire()) return false;
  try {
    if (too_long) copy();  // so that LastCommit knows it before the log is empty
    const Log log = run_checkpoint(too_long ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_RESTART);
    write_lock_->release();
    if (!log.busy) ++restarts_;
    return !log.busy;
  } catch (...) {
    write_lock_->release();
    throw;
  }
}

// A PASSIVE checkpoint leaves the pages that were added while it ran. False: more pages are left, because a
// reader still needs them.
bool Checkpointer::catch_up(int copied) {
  Log log{.copied = copied};
  for (int round = 0; round < kCatchUpRounds; ++round) {
    const int before = std::exchange(log, copy()).copied;
    if (log.busy || log.copied - before <= kFramesLeftMax) break;
  }
  return !log.busy && log.frames - log.copied <= kFramesLeftMax;
}

// A PASSIVE checkpoint also returns BUSY when it reads the header of the log's index just while a commit
// writes it. Retrying helps at once. A reader does not make it BUSY.
Checkpointer::Log Checkpointer::copy() {
  Log log = run_checkpoint(SQLITE_CHECKPOINT_PASSIVE);
  for (int tries = 1; log.busy && tries < kBusyRetries; ++tries) {
    std::this_thread::yield();
    log = run_checkpoint(SQLITE_CHECKPOINT_PASSIVE);
  }
  return log;
}

Checkpointer::Log Checkpointer::run_checkpoint(int mode) {
  Log log;
  const auto before = last_commit_.last();
  const int code = sqlite3_wal_checkpoint_v2(db_.handle(), nullptr, mode, &log.frames, &log.copied);
  log.busy = (code & 0xff) == SQLITE_BUSY;
  if (log.busy) return log;
  if (code != SQLITE_OK) throw sqlite_error(code, sqlite3_errmsg(db_.handle()));
  if (log.frames < 0) throw DbError{.message = "the checkpoint could not read the log"};
  if (!before) return log;
  // TRUNCATE has copied the whole log, under the write lock, and returns 0 frames of an empty one.
  const bool emptied = mode == SQLITE_CHECKPOINT_TRUNCATE;
  last_commit_.record_copied(*before, emptied ? before->frames : static_cast<std::uint64_t>(log.copied),
                             emptied || log.copied == log.frames, options_.database);
  return log;
}

}  // namespace millrace::storage
