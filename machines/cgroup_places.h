#pragma once
#include <string>
#include <string_view>

namespace millrace::machines {

// The control groups that this process is in: groups of ours are made below them, so that what bounds us
// bounds them as well. Empty: there is none.
struct CgroupPlaces {
  std::string memory, pids, cpu;  // version 1
  std::string unified;            // version 2
};

// From the texts of /proc/self/cgroup and /proc/self/mountinfo.
CgroupPlaces cgroup_places(std::string_view memberships, std::string_view mounts);

}  // namespace millrace::machines
