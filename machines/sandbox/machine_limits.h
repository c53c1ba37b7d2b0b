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

// The sum of what runs on a machine, bounded by control groups where the host lets us make them. Whoever
// started this process may move it and remove the group that it was in: then the groups are made anew below
// the one where it is now. Where that cannot be done the machine's commands are bounded by rlimits alone, and
// the log says so (`machine_limits_lost`). Thread-safe.
class MachineLimits {
 public:
  enum class Kind : std::uint8_t { kRlimits, kCgroupV1, kCgroupV2 };
  static std::string_view name(Kind kind);  // schemas::MachineFacts::limits

  MachineLimits(const std::string& data_dir, unsigned processes, bool use_cgroups);
  // Removes the groups that are empty.
  ~MachineLimits();
  MachineLimits(const MachineLimits&) = delete;
  MachineLimits& operator=(const MachineLimits&) = delete;

  Kind kind() const;
  // From now on nothing is bounded by groups: they cannot be entered.
  void give_up();

  struct Entrances {
    Kind kind = Kind::kRlimits;   // what bounds who enters
    std::vector<base::Fd> files;  // to write "0" to; none: rlimits
  };
  // How a process enters the groups of `machine` with all that it starts then, whatever its uid. The groups
  // get the machine's size.
  Entrances cgroup_fds(const schemas::Machine& machine, const std::string& name);
  // How many processes of the machine the kernel has killed for its memory.
  std::uint64_t memory_kills(const std::string& name) const;
  // Removes its groups; waits up to a second for the last that is in them to be gone.
  void remove(const std::string& name);

 private:
  struct Size {
    int memory_mib = 0;
    double vcpu = 0;
    bool operator==(const Size&) const = default;
  };
  // All with the lock.
  bool set_groups(const schemas::Machine& machine, const std::string& name);
  std::vector<base::Fd> enter(const schemas::Machine& machine, const std::string& name);
  void settle();
  void note(const std::string& name, bool bounded, int problem);
  void remove_groups(const std::string& name);

  const std::string data_dir_;
  const unsigned processes_;
  mutable std::mutex mutex_;
  GroupTree tree_;
  bool used_ = false;                  // there were groups at the start, and nobody gave them up
  std::map<std::string, Size> sizes_;  // as set
  std::set<std::string> lost_;         // machines that the log has named
};

}  // namespace millrace::machines
