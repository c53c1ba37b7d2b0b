#pragma once
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "platform/base/result.h"
#include "storage/writer/lock_file.h"

namespace millrace::app {

// The seat of the one process that runs the machines of a data directory on this host: a lock at
// DATA/machines/host.lock, held until the end of the seat or of the process. What one process has begun on a
// machine (its disk, its jails, its sshd) no other one could end.
class HostLock {
 public:
  // Makes the file.
  static base::Result<std::unique_ptr<HostLock>> open(const std::string& data_dir);
  ~HostLock() { stop_waiting(); }
  HostLock(const HostLock&) = delete;
  HostLock& operator=(const HostLock&) = delete;

  // At once. False: another process has it; `holder` says which. Not while `wait` runs.
  bool take();
  std::string holder() const;
  void give_up();  // to whoever waits for it
  // Looks for it every two seconds, on a thread of its own, and calls `taken` there once, with the seat
  // taken. `taken` may give it up again.
  void wait(std::function<void()> taken);
  // `taken` is not called any more, or has returned. Blocks for it. Idempotent.
  void stop_waiting();

 private:
  explicit HostLock(storage::LockFile lock) : lock_(std::move(lock)) {}
  storage::LockFile lock_;
  std::jthread waiter_;
};

// The process that runs the machines of this data directory now, as far as it can be seen from here; empty:
// none. Makes and locks nothing.
std::string machines_holder(const std::string& data_dir);

}  // namespace millrace::app
