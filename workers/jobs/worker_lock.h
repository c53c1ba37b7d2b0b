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

// One process, told apart from every other that may get its number: by boot, PID namespace and start time.
struct ProcessIdentity {
  std::int64_t pid = 0;
  std::uint64_t started_ticks = 0;  // /proc/PID/stat, field 22
  std::uint64_t pid_namespace = 0;  // inode
  std::string boot_id;

  // Of a process of this PID namespace.
  static ProcessIdentity of(std::int64_t pid, std::string boot_id);
  // One line of text and back; nullopt: it is not one.
  std::string str() const;
  static std::optional<ProcessIdentity> parse(std::string_view line);
  // SIGKILL, if this very process still runs here; elsewhere, or after a reboot, its own death has done it.
  // True: it was sent.
  bool kill_if_same(const std::string& own_boot_id) const;

  friend bool operator==(const ProcessIdentity&, const ProcessIdentity&) = default;
};

std::string host_name();  // "worker" if the host has none

// DATA/workers/<name>.lock, held by flock for a worker's life. The kernel lets it go when the process dies,
// however it dies: a lock file that nobody holds is a death notice (docs/design/delivery.md §6).
// It is removed by the end in good order and by whoever has released a dead worker's leases. Everything
// blocks shortly: not on the loop.
class WorkerLock {
 public:
  // A free name of the form `<hostname>-<n>` if `name` is empty. kInvalidState: the name is in use.
  static base::Result<WorkerLock> take(const std::string& data_dir, const std::string& name,
                                       const std::string& boot_id);
  // The locks of dead workers, now ours; whoever looks must release their leases, then `remove`.
  static std::vector<WorkerLock> dead(const std::string& data_dir);

  WorkerLock(WorkerLock&&) = default;
  WorkerLock& operator=(WorkerLock&&) = default;

  const std::string& name() const { return name_; }
  // Kills what the worker that held this very file before left behind.
  void kill_leftovers(const std::string& boot_id) const;
  // Ends it in good order: the file goes.
  void remove();

 private:
  std::string own_file() const;  // "device:inode" of the lock file; empty: unknown
  WorkerLock(std::string path, std::string name, base::Fd fd)
      : path_(std::move(path)), name_(std::move(name)), fd_(std::move(fd)) {}
  enum class Attempted { kTaken, kHeld, kGone };
  static base::Result<WorkerLock> open(const std::string& path, std::string name, bool make);
  Attempted try_lock();
  void sign(const std::string& boot_id);

  std::string path_;
  std::string name_;
  base::Fd fd_;
};

}  // namespace millrace::workers
