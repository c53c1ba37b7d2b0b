#include "machines/group_tree.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

#include "machines/cgroup_files.h"
#include "machines/cgroup_places.h"
#include "platform/base/crypto.h"

namespace millrace::machines {
namespace {

constexpr int kPeriodUs = 100'000;  // of the processors' share
constexpr const char* kOurGroup = "/millrace-gateway";

std::string quota_us(double vcpu) { return std::to_string(std::llround(vcpu * kPeriodUs)); }

std::string memory_bytes(const schemas::Machine& machine) {
  return std::to_string(static_cast<std::uint64_t>(machine.memory_mib) << 20);
}

// A limit with swap is never below the one without: which is to be set first depends on what they were.
bool set_memory_v1(const std::string& group, const std::string& bytes) {
  write_group_file(group + "/memory.memsw.limit_in_bytes", bytes);
  const bool set = write_group_file(group + "/memory.limit_in_bytes", bytes);
  write_group_file(group + "/memory.memsw.limit_in_bytes", bytes);  // fails where swap is not counted
  return set;
}

bool set_v1(const std::vector<std::string>& groups, const schemas::Machine& machine, unsigned processes) {
  if (!set_memory_v1(groups[0], memory_bytes(machine))) return false;
  if (!write_group_file(groups[1] + "/pids.max", std::to_string(processes))) return false;
  if (groups.size() < 3) return true;
  return write_group_file(groups[2] + "/cpu.cfs_period_us", std::to_string(kPeriodUs)) &&
         write_group_file(groups[2] + "/cpu.cfs_quota_us", quota_us(machine.vcpu));
}

bool set_v2(const std::string& group, const schemas::Machine& machine, unsigned processes) {
  write_group_file(group + "/memory.swap.max", "0");  // where there is
  write_group_file(group + "/cpu.max", quota_us(machine.vcpu) + " " + std::to_string(kPeriodUs));  // either
  return write_group_file(group + "/memory.max", memory_bytes(machine)) &&
         write_group_file(group + "/pids.max", std::to_string(processes));
}

bool offers_children(const std::string& group) {
  const std::string file = group + "/cgroup.subtree_control";
  if (!write_group_file(file, "+memory +pids")) return false;
  write_group_file(file, "+cpu");
  return true;
}

// A group with processes offers nothing to those below it, unless it is the root of all.
bool make_room_v2(const std::string& own) {
  if (offers_children(own)) return true;
  const std::string ours = own + kOurGroup;
  if (!make_group(ours)) return false;
  if (write_group_file(ours + "/cgroup.procs", "0") && offers_children(own)) return true;
  write_group_file(own + "/cgroup.procs", "0");
  ::rmdir(ours.c_str());
  return false;
}

// What another worker of this host that was here first has left us.
std::string above_ours(const std::string& place) {
  const std::string_view ending = kOurGroup;
  const bool ours =
      place.size() > ending.size() && std::string_view(place).substr(place.size() - ending.size()) == ending;
  return ours ? place.substr(0, place.size() - ending.size()) : place;
}

}  // namespace

bool GroupTree::below(const std::string& place, const std::string& name, bool offers) {
  const std::string all = place + "/millrace";
  if (!make_group(all) || (offers && !offers_children(all))) return false;
  made_.push_back(all);
  sweep_groups(all);
  made_.push_back(all + "/" + name);
  owned_.push_back(own_group(made_.back()));
  if (!owned_.back() || (offers && !offers_children(made_.back()))) return false;
  folders_.push_back(made_.back());
  return true;
}

GroupTree GroupTree::make(const std::string& data_dir) {
  const CgroupPlaces places =
      cgroup_places(read_group_file("/proc/self/cgroup"), read_group_file("/proc/self/mountinfo"));
  const std::string name = base::hex(base::sha256(data_dir)).substr(0, 8);
  GroupTree tree;
  if (!places.memory.empty() && !places.pids.empty()) {
    const bool made = tree.below(places.memory, name, false) && tree.below(places.pids, name, false);
    if (made) tree.kind_ = Kind::kV1;
    if (made && !places.cpu.empty()) tree.below(places.cpu, name, false);
  } else if (!places.unified.empty()) {
    const std::string own = above_ours(places.unified);
    if (make_room_v2(own) && tree.below(own, name, true)) tree.kind_ = Kind::kV2;
  }
  if (tree.kind_ == Kind::kNone) tree.leave({});
  return tree;
}

std::vector<std::string> GroupTree::groups(const std::string& name) const {
  std::vector<std::string> groups;
  groups.reserve(folders_.size());
  for (const std::string& folder : folders_) groups.push_back(std::string(folder).append("/").append(name));
  return groups;
}

bool GroupTree::set(const schemas::Machine& machine, const std::string& name, unsigned processes) const {
  const std::vector<std::string> all = groups(name);
  if (!std::all_of(all.begin(), all.end(), &make_group)) return false;
  switch (kind_) {
    case Kind::kNone:
      return false;
    case Kind::kV1:
      return set_v1(all, machine, processes);
    case Kind::kV2:
      return set_v2(all.front(), machine, processes);
  }
  return false;
}

// In version 1 a thread that moves itself by `tasks` waits for nobody; version 2 has no such file.
std::vector<base::Fd> GroupTree::entrances(const std::string& name) const {
  const char* const file = kind_ == Kind::kV1 ? "/tasks" : "/cgroup.procs";
  std::vector<base::Fd> files;
  for (const std::string& group : groups(name)) {
    base::Fd entrance(::open((group + file).c_str(), O_WRONLY | O_CLOEXEC));
    if (!entrance) return {};
    files.push_back(std::move(entrance));
  }
  return files;
}

std::uint64_t GroupTree::memory_kills(const std::string& name) const {
  if (kind_ == Kind::kNone) return 0;
  const char* const file = kind_ == Kind::kV1 ? "/memory.oom_control" : "/memory.events";
  return number_in(read_group_file(groups(name).front() + file), "oom_kill");
}

bool GroupTree::remove(const std::string& name) const {
  bool gone = true;
  for (const std::string& group : groups(name))
    gone = (::rmdir(group.c_str()) == 0 || errno != EBUSY) && gone;
  return gone;
}

void GroupTree::leave(const GroupTree& kept) {
  for (auto folder = made_.rbegin(); folder != made_.rend(); ++folder) {
    const auto same = std::find(kept.made_.begin(), kept.made_.end(), *folder);
    if (same == kept.made_.end()) ::rmdir(folder->c_str());
  }
  *this = GroupTree();
}

}  // namespace millrace::machines
