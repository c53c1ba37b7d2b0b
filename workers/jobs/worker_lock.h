#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "platform/base/fd.h"
#include "platform/base/result.h"

namespace millrace::workers {

// Identifies one process beyond its PID, which may be reused: by boot, PID namespace and start time.
struct ProcessIdentity {
  std::int64_t pid = 0;
  std::uint64_t started_ticks = 0;  // /proc/PID/stat, field 22
  std::uint64_t pid_namespace = 0;  // inode
  std::string boot_id;

  // `pid` is a process of this PID namespace.
  static ProcessIdentity of(std::int64_t pid, std::string boot_id);
  // Serialises to one line of text, and parses it; nullopt: not a process identity.
  std::string str() const;
  static std::optional<ProcessIdentity> parse(std::string_view line);
  // Sends SIGKILL if exactly this process still runs. In another PID namespace or after a reboot it is dead
  // already. True: the signal was sent.
  bool kill_if_same(const std::string& own_boot_id) const;

  friend bool operator==(const ProcessIdentity&, const ProcessIdentity&) = default;
};

std::string host_name();  // "worker" if the host has none

// DATA/workers/<name>.lock, locked with flock for a worker's lifetime. The kernel releases the lock when the
// process dies, so an unlocked file means that its worker is dead (docs/design/delivery.md §6). A clean
// shutdown removes the file; so does the process that has released a dead worker's leases. All functions
// block shortly: do not call them on the loop.
class WorkerLock {
 public:
  struct Name {
    std::string worker;  // empty: a free name of the form `<host>-<n>`
    std::string host{};  // empty: that of the system
  };
  // kInvalidState: the name is in use.
  static base::Result<WorkerLock> take(const std::string& data_dir, const Name& name,
                                       const std::string& boot_id);
  // Takes and returns the locks of dead workers. The caller must release their leases, then call `remove`.
  static std::vector<WorkerLock> dead(const std::string& data_dir);

  WorkerLock(WorkerLock&&) = default;
  WorkerLock& operator=(WorkerLock&&) = default;

  const std::string& name() const { return name_; }
  // Kills the processes left behind by the previous holder of this file.
  void kill_orphans(const std::string& boot_id) const;
  // Clean shutdown: deletes the file.
  void remove();

 private:
  std::string own_file() const;  // "device:inode" of the lock file; empty: unknown
  WorkerLock(std::string path, std::string name, base::Fd fd)
      : path_(std::move(path)), name_(std::move(name)), fd_(std::move(fd)) {}
  enum class LockResult { kTaken, kHeld, kGone };
  static base::Result<WorkerLock> open(const std::string& path, std::string name, bool make);
  LockResult try_lock();
  void sign(const std::string& boot_id);

  std::string path_;
  std::string name_;
  base::Fd fd_;
};

}  // namespace millrace::workers
