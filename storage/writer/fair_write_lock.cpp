#include "storage/writer/fair_write_lock.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <signal.h>

namespace millrace::storage {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// SIGURG is ignored by default and not used elsewhere here, so a late signal does no harm.
constexpr int kWakeSignal = SIGURG;
// A signal that arrives just before flock blocks is lost. So it is sent again until the waiter has left.
constexpr milliseconds kSignalAgain{5};

void unblock_wake_signal() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, kWakeSignal);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

}  // namespace

base::Result<std::unique_ptr<FairWriteLock>> FairWriteLock::open(const std::string& folder) {
  auto next = LockFile::open(folder + "/next.lock");
  if (!next) return next.error();
  auto write = LockFile::open(folder + "/write.lock");
  if (!write) return write.error();
  auto probe = LockFile::open(folder + "/write.lock");
  if (!probe) return probe.error();
  struct sigaction action {};
  action.sa_handler = [](int) {};
  if (::sigaction(kWakeSignal, &action, nullptr) != 0) {
    return base::error(base::Code::kInternal, std::string("sigaction: ") + std::strerror(errno));
  }
  return std::unique_ptr<FairWriteLock>(
      new FairWriteLock(std::move(*next), std::move(*write), std::move(*probe)));
}

bool FairWriteLock::acquire() {
  if (interrupted_) return false;
  const bool first = next_.try_lock(LockFile::Mode::kExclusive);
  if (first && write_.try_lock(LockFile::Mode::kExclusive)) {
    next_.unlock();
    write_.record_owner();
    return held_ = true;
  }
  behind_next_ = !first;
  begin_waiting();
  const bool passed = wait_in_turn();
  end_waiting();
  return passed;
}

// flock succeeds at once if this file already holds the lock, so it does not matter how far `acquire` came.
bool FairWriteLock::wait_in_turn() {
  const bool first = wait_for(next_);
  if (first) next_.record_owner();
  behind_next_ = !first;
  const bool held = first && wait_for(write_);
  next_.unlock();
  if (held) write_.record_owner();
  return held_ = held;
}

bool FairWriteLock::wait_for(LockFile& file) {
  while (!interrupted_) {
    if (file.lock(LockFile::Mode::kExclusive)) return true;
  }
  return false;
}

void FairWriteLock::begin_waiting() {
  unblock_wake_signal();
  std::lock_guard lock(mutex_);
  waiting_since_ = steady_clock::now();
  waiter_ = pthread_self();
}

void FairWriteLock::end_waiting() {
  std::lock_guard lock(mutex_);
  waiting_since_.reset();
  waiter_left_.notify_all();
}

void FairWriteLock::release() {
  held_ = false;
  write_.unlock();
}

bool FairWriteLock::held_elsewhere() {
  if (!probe_.try_lock(LockFile::Mode::kShared)) return !held_;
  probe_.unlock();
  return false;
}

std::optional<milliseconds> FairWriteLock::waiting() const {
  std::lock_guard lock(mutex_);
  if (!waiting_since_) return std::nullopt;
  return std::chrono::duration_cast<milliseconds>(steady_clock::now() - *waiting_since_);
}

std::string FairWriteLock::holder() const {
  std::string writer = write_.recorded_owner();
  if (!behind_next_) return writer;
  return writer + "; first in line: " + next_.recorded_owner();
}

void FairWriteLock::interrupt() {
  interrupted_ = true;
  std::unique_lock lock(mutex_);
  while (waiting_since_) {
    pthread_kill(waiter_, kWakeSignal);
    waiter_left_.wait_for(lock, kSignalAgain);
  }
}

}  // namespace millrace::storage
