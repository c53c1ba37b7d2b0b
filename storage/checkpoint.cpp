#include "storage/checkpoint.h"

#include <utility>

#include <sqlite3.h>

#include "platform/base/log.h"
#include "storage/data_dir.h"

namespace millrace::storage {
namespace {

constexpr int kBusyMs = 5;  // how long a restart may wait for readers while writers are blocked
constexpr int kCatchUpTurns = 8;
constexpr int kCopyTries = 8;
constexpr int kFewFrames = 128;  // pages that may still have to be copied while writers are blocked
constexpr std::int64_t kFrameBytes = kPageBytes + 24;  // a database page and its header in the log
constexpr std::int64_t kFileOverLimit = 4;             // a file of this many times the limit is truncated

}  // namespace

base::Result<std::unique_ptr<Checkpointer>> Checkpointer::open(Options options) {
  auto election = LockFile::open(options.locks + "/checkpoint.lock");
  if (!election) return election.error();
  auto turnstile = Turnstile::open(options.locks);
  if (!turnstile) return turnstile.error();
  return std::unique_ptr<Checkpointer>(
      new Checkpointer(std::move(options), std::move(*election), std::move(*turnstile)));
}

Checkpointer::Checkpointer(Options options, LockFile election, std::unique_ptr<Turnstile> turnstile)
    : options_(std::move(options)),
      election_(std::move(election)),
      turnstile_(std::move(turnstile)),
      db_({.path = options_.database, .cache_kib = 1024}) {
  db_.prepare("SELECT count(*) FROM sqlite_schema").run();
  sqlite3_busy_timeout(db_.handle(), kBusyMs);
  thread_ = std::jthread([this](std::stop_token stop) { run(std::move(stop)); });
}

void Checkpointer::stop() {
  thread_.request_stop();
  turnstile_->interrupt();
  if (thread_.joinable()) thread_.join();
}

void Checkpointer::committed(int log_frames) {
  const bool grew_long = log_frames * kFrameBytes > options_.wal_max_bytes && !long_.exchange(true);
  if (dirty_.exchange(true) && !grew_long) return;
  std::lock_guard lock(mutex_);
  changed_.notify_one();
}

Checkpointer::Counts Checkpointer::counts() const { return {checkpoints_, restarts_, failures_}; }

void Checkpointer::run(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [this] { return dirty_.load(); })) {
    changed_.wait_for(lock, stop, options_.interval, [this] { return long_ && !in_vain_; });
    if (stop.stop_requested()) return;
    dirty_ = false;
    long_ = false;
    lock.unlock();
    const bool again = !round();
    lock.lock();
    if (again) dirty_ = true;
  }
}

// False: another process runs the checkpoints now; try again later.
bool Checkpointer::round() {
  in_vain_ = true;
  if (!election_.try_lock(LockFile::Mode::kExclusive)) return false;
  election_.sign();
  try {
    in_vain_ = !checkpoint();
  } catch (const SqliteError& e) {
    ++failures_;
    base::log_error("store_checkpoint_failed", {{"code", e.code}, {"error", e.message}});
  }
  election_.unlock();
  return true;
}

// False: the log is too long and could not be restarted.
bool Checkpointer::checkpoint() {
  const Log log = copy();
  ++checkpoints_;
  if (log.busy) return false;
  if (log.frames * kFrameBytes <= options_.wal_max_bytes) return true;
  const bool anew = start_anew(log.copied);
  long_ = false;  // reports that came in meanwhile were about the old log
  return anew;
}

bool Checkpointer::start_anew(int copied) {
  if (!catch_up(copied)) return false;
  const bool too_long = file_bytes(options_.database + "-wal") > kFileOverLimit * options_.wal_max_bytes;
  if (!turnstile_->acquire()) return false;
  try {
    const Log log = run_checkpoint(too_long ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_RESTART);
    turnstile_->release();
    if (!log.busy) ++restarts_;
    return !log.busy;
  } catch (...) {
    turnstile_->release();
    throw;
  }
}

// A PASSIVE checkpoint leaves the pages that were added while it ran. False: more pages are left, because a
// reader still needs them.
bool Checkpointer::catch_up(int copied) {
  Log log{.copied = copied};
  for (int turn = 0; turn < kCatchUpTurns; ++turn) {
    const int before = std::exchange(log, copy()).copied;
    if (log.busy || log.copied - before <= kFewFrames) break;
  }
  return !log.busy && log.frames - log.copied <= kFewFrames;
}

// A PASSIVE checkpoint also returns BUSY when it reads the header of the log's index just while a commit
// writes it. Retrying helps at once. A reader does not make it BUSY.
Checkpointer::Log Checkpointer::copy() {
  Log log = run_checkpoint(SQLITE_CHECKPOINT_PASSIVE);
  for (int tries = 1; log.busy && tries < kCopyTries; ++tries) {
    std::this_thread::yield();
    log = run_checkpoint(SQLITE_CHECKPOINT_PASSIVE);
  }
  return log;
}

Checkpointer::Log Checkpointer::run_checkpoint(int mode) {
  Log log;
  const int code = sqlite3_wal_checkpoint_v2(db_.handle(), nullptr, mode, &log.frames, &log.copied);
  log.busy = (code & 0xff) == SQLITE_BUSY;
  if (log.busy) return log;
  if (code != SQLITE_OK) throw SqliteError{code, sqlite3_errmsg(db_.handle())};
  if (log.frames < 0) throw SqliteError{SQLITE_INTERNAL, "the checkpoint did not see the log"};
  return log;
}

}  // namespace millrace::storage
