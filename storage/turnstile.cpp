#include "storage/turnstile.h"

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

void let_signal_through() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, kWakeSignal);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

}  // namespace

base::Result<std::unique_ptr<Turnstile>> Turnstile::open(const std::string& folder) {
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
  return std::unique_ptr<Turnstile>(new Turnstile(std::move(*next), std::move(*write), std::move(*probe)));
}

bool Turnstile::acquire() {
  if (interrupted_) return false;
  const bool first = next_.try_lock(LockFile::Mode::kExclusive);
  if (first && write_.try_lock(LockFile::Mode::kExclusive)) {
    next_.unlock();
    write_.sign();
    return mine_ = true;
  }
  at_next_ = !first;
  begin_waiting();
  const bool passed = pass();
  end_waiting();
  return passed;
}

// flock succeeds at once if this file already holds the lock, so it does not matter how far `acquire` came.
bool Turnstile::pass() {
  const bool first = wait_for(next_);
  if (first) next_.sign();
  at_next_ = !first;
  const bool mine = first && wait_for(write_);
  next_.unlock();
  if (mine) write_.sign();
  return mine_ = mine;
}

bool Turnstile::wait_for(LockFile& file) {
  while (!interrupted_) {
    if (file.lock(LockFile::Mode::kExclusive)) return true;
  }
  return false;
}

void Turnstile::begin_waiting() {
  let_signal_through();
  std::lock_guard lock(mutex_);
  waiting_since_ = steady_clock::now();
  waiter_ = pthread_self();
}

void Turnstile::end_waiting() {
  std::lock_guard lock(mutex_);
  waiting_since_.reset();
  left_.notify_all();
}

void Turnstile::release() {
  mine_ = false;
  write_.unlock();
}

bool Turnstile::held_elsewhere() {
  if (!probe_.try_lock(LockFile::Mode::kShared)) return !mine_;
  probe_.unlock();
  return false;
}

std::optional<milliseconds> Turnstile::waiting() const {
  std::lock_guard lock(mutex_);
  if (!waiting_since_) return std::nullopt;
  return std::chrono::duration_cast<milliseconds>(steady_clock::now() - *waiting_since_);
}

std::string Turnstile::holder() const {
  std::string writer = write_.signed_by();
  if (!at_next_) return writer;
  return writer + "; first in line: " + next_.signed_by();
}

void Turnstile::interrupt() {
  interrupted_ = true;
  std::unique_lock lock(mutex_);
  while (waiting_since_) {
    pthread_kill(waiter_, kWakeSignal);
    left_.wait_for(lock, kSignalAgain);
  }
}

}  // namespace millrace::storage
