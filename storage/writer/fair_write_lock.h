#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <pthread.h>

#include "platform/base/result.h"
#include "storage/writer/lock_file.h"

namespace millrace::storage {

// The queue in which the writers of all processes wait for the database (docs/design/delivery.md §4): flock
// `next`, flock `write`, unlock `next`. With a plain flock, the process that releases the lock can take it
// again before those that wait. Here the next process in line already waits at `write`. One FairWriteLock is
// used by one thread at a time; `waiting`, `holder`, `held_elsewhere` and `interrupt` are for other threads.
class FairWriteLock {
 public:
  // Opens, or creates, `folder`/next.lock and `folder`/write.lock. Installs a SIGURG handler for the process
  // that does nothing and has no SA_RESTART. flock has no time-out, and this signal interrupts a blocked
  // flock.
  static base::Result<std::unique_ptr<FairWriteLock>> open(const std::string& folder);

  // Blocks until this thread holds the lock. False: `interrupt` was called, and nothing is held.
  [[nodiscard]] bool acquire();
  void release();

  // How long `acquire` has been waiting; nullopt if it is not.
  std::optional<std::chrono::milliseconds> waiting() const;
  // The processes ahead of this one, as recorded in the lock files.
  std::string holder() const;
  // Whether another process holds the write lock now. Does not queue: it tries to lock and unlocks at once.
  // One thread at a time.
  bool held_elsewhere();
  // Ends a waiting `acquire` and every later one. Returns when no call waits any more.
  void interrupt();

 private:
  FairWriteLock(LockFile next, LockFile write, LockFile probe)
      : next_(std::move(next)), write_(std::move(write)), probe_(std::move(probe)) {}
  bool wait_in_turn();
  bool wait_for(LockFile& file);
  void begin_waiting();
  void end_waiting();

  LockFile next_, write_;
  LockFile probe_;  // the file of write_, opened a second time, because a flock belongs to the open file
  std::atomic<bool> held_{false};
  std::atomic<bool> interrupted_{false};
  std::atomic<bool> behind_next_{false};
  mutable std::mutex mutex_;
  std::condition_variable waiter_left_;
  std::optional<std::chrono::steady_clock::time_point> waiting_since_;
  pthread_t waiter_{};
};

}  // namespace millrace::storage
