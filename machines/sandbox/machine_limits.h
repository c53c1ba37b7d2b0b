#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "machines/sandbox/group_tree.h"
#include "platform/base/fd.h"
#include "schemas/machines/machine.h"

namespace millrace::machines {

// Limits the total resources of each machine with control groups, if the host lets us create them. The
// process that started us (for example systemd) may move us to another group and remove the old one. In that
// case the groups are created again below the current group. If that fails, the machine's commands are
// limited by rlimits only and the log records it (`machine_limits_lost`). Thread-safe.
class MachineLimits {
 public:
  enum class Kind : std::uint8_t { kRlimits, kCgroupV1, kCgroupV2 };
  static std::string_view name(Kind kind);  // the value of schemas::MachineFacts::limits

  MachineLimits(const std::string& data_dir, unsigned processes, bool use_cgroups);
  // Removes empty groups.
  ~MachineLimits();
  MachineLimits(const MachineLimits&) = delete;
  MachineLimits& operator=(const MachineLimits&) = delete;

  Kind kind() const;
  // Stops the use of groups, because processes cannot enter them.
  void give_up();

  struct CgroupFds {
    Kind kind = Kind::kRlimits;   // the mechanism that limits a process that enters
    std::vector<base::Fd> files;  // a process enters by writing "0" to each; empty: rlimits are used
  };
  // Returns the files with which a process enters the groups of `machine`, whatever its uid. All processes
  // that it starts later are in the groups too. Sets the groups' limits to the machine's size.
  CgroupFds cgroup_fds(const schemas::Machine& machine, const std::string& name);
  LimitCounts counts(const std::string& name) const;
  // Removes the machine's groups. Waits up to one second for their last processes to exit.
  void remove(const std::string& name);

 private:
  struct Size {
    int memory_mib = 0;
    double vcpu = 0;
    bool operator==(const Size&) const = default;
  };
  // All of these require the mutex.
  bool set_groups(const schemas::Machine& machine, const std::string& name);
  std::vector<base::Fd> enter(const schemas::Machine& machine, const std::string& name);
  void settle();
  void note(const std::string& name, bool bounded, int problem);
  void remove_groups(const std::string& name);

  const std::string data_dir_;
  const unsigned processes_;
  mutable std::mutex mutex_;
  GroupTree tree_;
  bool used_ = false;                  // groups were available at start-up and `give_up` was not called
  std::map<std::string, Size> sizes_;  // the limits that were set
  std::set<std::string> lost_;         // machines that were logged as lost
};

}  // namespace millrace::machines
