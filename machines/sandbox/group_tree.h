#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "platform/base/fd.h"
#include "schemas/machines/machine.h"

namespace millrace::machines {

// Files and folders of control groups. False: see errno.
bool write_group_file(const std::string& path, std::string_view text);
std::string read_group_file(const std::string& path);  // empty: it cannot be read
bool make_group(const std::string& path);              // succeeds if it already exists
// Creates the group and owns it while the descriptor is open. Empty: see errno.
base::Fd own_group(const std::string& path);
// Removes the groups of `parent` that no process owns, and the empty groups below them.
void sweep_groups(const std::string& parent);
// The number after `key` in a text of "key number" lines. 0: the key is missing.
unsigned long long number_in(std::string_view text, std::string_view key);

// The control groups that this process is in. We create our groups below them, so the limits of this process
// apply to them too. Empty: there is none.
struct CgroupPaths {
  std::string memory, pids, cpu;  // version 1
  std::string unified;            // version 2
};

// Parses the contents of /proc/self/cgroup and /proc/self/mountinfo.
CgroupPaths cgroup_paths(std::string_view memberships, std::string_view mounts);

// What the kernel has counted for a machine since its group was made. 0: unknown.
struct LimitCounts {
  std::uint64_t memory_kills = 0;       // processes killed because of the memory limit
  std::uint64_t memory_peak_bytes = 0;  // the most that was used at once
  std::uint64_t refused_processes = 0;  // processes and threads that were not started because of the limit
  std::uint64_t processes_max = 0;      // this limit
};

// The control groups of the machines of one data folder. Each machine has the group millrace/<data
// folder>/<machine>, below the group that this process was in when the tree was created. Not thread-safe.
class GroupTree {
 public:
  enum class Kind : std::uint8_t { kNone, kV1, kV2 };

  GroupTree() = default;  // kNone: there are no groups; all calls do nothing
  // Creates the parent groups of the machines' groups. kNone: there are no control groups, or this process
  // may not create them. With version 2, this process moves into a new group next to them, because a group
  // that contains processes cannot have child groups with limits.
  static GroupTree make(const std::string& data_dir);

  Kind kind() const { return kind_; }
  bool same_place(const GroupTree& other) const { return folders_ == other.folders_; }

  // Creates the machine's groups and sets their limits to the machine's size. False: see errno.
  bool set(const schemas::Machine& machine, const std::string& name, unsigned processes) const;
  // A process enters the machine's groups by writing "0" to these files. Empty: see errno; one of the groups
  // does not exist.
  std::vector<base::Fd> cgroup_fds(const std::string& name) const;
  LimitCounts counts(const std::string& name) const;
  // Removes the machine's empty groups. False: one of them still contains processes.
  bool remove(const std::string& name) const;
  // Stops using this tree. Removes those of its groups that are empty and not part of `kept`.
  void leave(const GroupTree& kept);

 private:
  bool below(const std::string& place, const std::string& name, bool offers);
  std::vector<std::string> groups(const std::string& name) const;

  Kind kind_ = Kind::kNone;
  std::vector<std::string> folders_;  // v1: of memory, pids and (if there is one) cpu; v2: the single folder
  std::vector<std::string> made_;     // outermost first
  std::vector<base::Fd> owned_;       // keeps `sweep_groups` from removing them
};

}  // namespace millrace::machines
