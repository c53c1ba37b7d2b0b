#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "platform/base/fd.h"
#include "schemas/machines/machine.h"

namespace millrace::machines {

// Files and folders of control groups. False: errno.
bool write_group_file(const std::string& path, std::string_view text);
std::string read_group_file(const std::string& path);  // empty: it cannot be read
bool make_group(const std::string& path);              // it may be there already
// Makes the group and owns it as long as the descriptor is open. Empty: errno.
base::Fd own_group(const std::string& path);
// Removes the groups of `parent`, and what is empty below each, that no process owns.
void sweep_groups(const std::string& parent);
// The number behind `key` in a text of "key number" lines; 0: it is not there.
unsigned long long number_in(std::string_view text, std::string_view key);

// The control groups that this process is in: groups of ours are made below them, so that what bounds us
// bounds them as well. Empty: there is none.
struct CgroupPlaces {
  std::string memory, pids, cpu;  // version 1
  std::string unified;            // version 2
};

// From the texts of /proc/self/cgroup and /proc/self/mountinfo.
CgroupPlaces cgroup_places(std::string_view memberships, std::string_view mounts);

// The control groups of a data folder's machines: one per machine at millrace/<data folder>/<machine>, below
// the group that this process was in when the tree was made. Not thread-safe.
class GroupTree {
 public:
  enum class Kind : std::uint8_t { kNone, kV1, kV2 };

  GroupTree() = default;  // kNone: no groups, and nothing to do
  // Makes what is above the machines' groups; kNone: this process may not, or there are none. In version 2 it
  // moves into a group of its own beside them, since groups that have processes have no bounded ones below.
  static GroupTree make(const std::string& data_dir);

  Kind kind() const { return kind_; }
  bool same_place(const GroupTree& other) const { return folders_ == other.folders_; }

  // Makes the machine's groups and gives them its size. False: errno.
  bool set(const schemas::Machine& machine, const std::string& name, unsigned processes) const;
  // What a process writes "0" to, to enter the machine's groups. Empty: errno, one of them is not there.
  std::vector<base::Fd> cgroup_fds(const std::string& name) const;
  std::uint64_t memory_kills(const std::string& name) const;
  // Removes the machine's groups that are empty. False: something is still in one of them.
  bool remove(const std::string& name) const;
  // Gives up the tree; removes what of it is empty and not part of `kept`.
  void leave(const GroupTree& kept);

 private:
  bool below(const std::string& place, const std::string& name, bool offers);
  std::vector<std::string> groups(const std::string& name) const;

  Kind kind_ = Kind::kNone;
  std::vector<std::string> folders_;  // v1: of memory, pids and (where there is one) cpu; v2: the one
  std::vector<std::string> made_;     // outermost first
  std::vector<base::Fd> owned_;       // so that nobody sweeps them
};

}  // namespace millrace::machines
