#pragma once
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "platform/base/result.h"
#include "storage/writer/lock_file.h"

namespace millrace::app {

// The lock that makes one process the only one that runs the machines of a data directory on this host:
// DATA/machines/host.lock, held until it is released or the process ends. Resources of a machine (its disk,
// its sandboxes, its sshd) can only be ended by the process that started them.
class HostLock {
 public:
  // Creates the file.
  static base::Result<std::unique_ptr<HostLock>> open(const std::string& data_dir);
  ~HostLock() { stop_waiting(); }
  HostLock(const HostLock&) = delete;
  HostLock& operator=(const HostLock&) = delete;

  // Tries to take the lock without waiting. False: another process holds it; `holder` names it. Do not call
  // while `wait` runs.
  bool take();
  std::string holder() const;
  void give_up();  // releases the lock for a waiting process
  // Tries to take the lock every two seconds on its own thread. Calls `taken` on that thread, once, when the
  // lock is held. `taken` may release it.
  void wait(std::function<void()> taken);
  // After the return `taken` is not running and is not called any more. Blocks until then. Idempotent.
  void stop_waiting();

 private:
  explicit HostLock(storage::LockFile lock) : lock_(std::move(lock)) {}
  storage::LockFile lock_;
  std::jthread waiter_;
};

// The process that runs the machines of this data directory, as far as this process can see it. Empty: none.
// Creates and locks nothing.
std::string machines_holder(const std::string& data_dir);

}  // namespace millrace::app
