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
#include "storage/lock_file.h"

namespace millrace::storage {

// The line in which the writers of all processes wait for the database (delivery.md, SQLite settings): flock
// `next`, flock `write`, release `next`. A plain flock lets the one who releases it barge ahead of those who
// wait; here the next one in line already stands at `write`. One Turnstile serves one thread at a time;
// `waiting`, `holder`, `held_elsewhere` and `interrupt` are for other threads.
class Turnstile {
 public:
  // Opens (makes) `folder`/next.lock and `folder`/write.lock. Sets the process's SIGURG handler to one that
  // does nothing and has no SA_RESTART: flock has no time-out, and that signal is how a blocked one is ended.
  static base::Result<std::unique_ptr<Turnstile>> open(const std::string& folder);

  // Blocks until this thread may write; false: `interrupt` was called, and nothing is held.
  [[nodiscard]] bool acquire();
  void release();

  // How long `acquire` has been waiting; nullopt: it is not.
  std::optional<std::chrono::milliseconds> waiting() const;
  // Who is in front of us, as the lock files say.
  std::string holder() const;
  // Whether somebody else may write now. Stands in no line: it tries, and gives back at once what it got. One
  // thread at a time.
  bool held_elsewhere();
  // Ends a waiting `acquire` and every later one. Returns when none waits any more.
  void interrupt();

 private:
  Turnstile(LockFile next, LockFile write, LockFile probe)
      : next_(std::move(next)), write_(std::move(write)), probe_(std::move(probe)) {}
  bool pass();
  bool wait_for(LockFile& file);
  void begin_waiting();
  void end_waiting();

  LockFile next_, write_;
  LockFile probe_;  // the file of write_, opened once more: a flock belongs to the open file
  std::atomic<bool> mine_{false};
  std::atomic<bool> interrupted_{false};
  std::atomic<bool> at_next_{false};
  mutable std::mutex mutex_;
  std::condition_variable left_;
  std::optional<std::chrono::steady_clock::time_point> waiting_since_;
  pthread_t waiter_{};
};

}  // namespace millrace::storage
