#include "machines/sandbox/group_tree.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <map>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "machines/sandbox/folder_entries.h"
#include "platform/base/crypto.h"

namespace millrace::machines {
namespace {

constexpr int kOwnAttempts = 3;
constexpr std::size_t kGroupsMax = 100'000;

std::vector<std::string> groups_in(const std::string& parent) {
  const base::Fd folder(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  std::vector<std::string> paths;
  if (!folder) return paths;
  for (const std::string& name : names_in(folder.get(), kGroupsMax)) {
    struct stat found {};
    const bool is_group =
        ::fstatat(folder.get(), name.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(found.st_mode);
    if (is_group) paths.push_back(std::string(parent).append("/").append(name));
  }
  return paths;
}

}  // namespace

bool write_group_file(const std::string& path, std::string_view text) {
  const base::Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return file && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

std::string read_group_file(const std::string& path) {
  const base::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  std::array<char, 16384> buffer;
  while (file) {
    const ssize_t count = ::read(file.get(), buffer.data(), buffer.size());
    if (count <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return text;
}

bool make_group(const std::string& path) { return ::mkdir(path.c_str(), 0755) == 0 || errno == EEXIST; }

base::Fd own_group(const std::string& path) {
  for (int i = 0; i < kOwnAttempts; ++i) {
    if (!make_group(path)) return {};
    base::Fd group(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    // Another process may have swept the group between the two calls.
    if (group && ::flock(group.get(), LOCK_SH | LOCK_NB) == 0 && ::access(path.c_str(), F_OK) == 0)
      return group;
  }
  return {};
}

void sweep_groups(const std::string& parent) {
  for (const std::string& path : groups_in(parent)) {
    const base::Fd group(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!group || ::flock(group.get(), LOCK_EX | LOCK_NB) != 0) continue;
    for (const std::string& inner : groups_in(path)) ::rmdir(inner.c_str());
    ::rmdir(path.c_str());
  }
}

unsigned long long number_in(std::string_view text, std::string_view key) {
  const std::string start = std::string(key).append(" ");
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view line = text.substr(at, text.find('\n', at) - at);
    unsigned long long number = 0;
    if (line.substr(0, start.size()) == start) {
      std::from_chars(line.data() + start.size(), line.data() + line.size(), number);
      return number;
    }
    at += line.size() + 1;
  }
  return 0;
}

namespace {

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(at), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

// Controller → path of our group; "" is the unified hierarchy.
std::map<std::string_view, std::string_view> groups_of(std::string_view memberships) {
  std::map<std::string_view, std::string_view> groups;
  for (const std::string_view line : split(memberships, '\n')) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    if (controllers.empty()) groups[""] = line.substr(second + 1);
    for (const std::string_view each : split(controllers, ',')) groups[each] = line.substr(second + 1);
  }
  return groups;
}

struct Mount {
  std::string_view root;  // the group that is visible at `point`
  std::string_view point;
  std::string_view type;
  std::vector<std::string_view> options;
};

// "36 35 98:0 /root /point options… - type source options"
Mount mount_of(std::string_view line) {
  const std::size_t dash = line.find(" - ");
  if (dash == std::string_view::npos) return {};
  const auto before = split(line.substr(0, dash), ' ');
  const auto after = split(line.substr(dash + 3), ' ');
  if (before.size() < 6 || after.size() < 3) return {};
  return {before[3], before[4], after[0], split(after[2], ',')};
}

// The path at which `group` is visible. Empty: it lies outside the mounted part of the hierarchy.
std::string place_of(const Mount& mount, std::string_view group) {
  std::string_view below = group;
  if (mount.root != "/") {
    if (below.substr(0, mount.root.size()) != mount.root) return {};
    below.remove_prefix(mount.root.size());
  }
  if (below.substr(0, 3) == "/..") return {};
  if (below == "/") below = {};
  return std::string(mount.point).append(below);
}

}  // namespace

CgroupPaths cgroup_paths(std::string_view memberships, std::string_view mounts) {
  const auto groups = groups_of(memberships);
  CgroupPaths places;
  const auto settle = [&](std::string& place, const Mount& mount, std::string_view controller) {
    const auto group = groups.find(controller);
    if (place.empty() && group != groups.end()) place = place_of(mount, group->second);
  };
  for (const std::string_view line : split(mounts, '\n')) {
    const Mount mount = mount_of(line);
    if (mount.type == "cgroup2") settle(places.unified, mount, "");
    if (mount.type != "cgroup") continue;
    for (const std::string_view option : mount.options) {
      if (option == "memory") settle(places.memory, mount, option);
      if (option == "pids") settle(places.pids, mount, option);
      if (option == "cpu") settle(places.cpu, mount, option);
    }
  }
  return places;
}

namespace {

constexpr int kPeriodUs = 100'000;  // of the CPU quota
constexpr const char* kOurGroup = "/millrace-gateway";

std::uint64_t number_of(const std::string& text) { return std::strtoull(text.c_str(), nullptr, 10); }

std::string quota_us(double vcpu) { return std::to_string(std::llround(vcpu * kPeriodUs)); }

std::string memory_bytes(const schemas::Machine& machine) {
  return std::to_string(static_cast<std::uint64_t>(machine.memory_mib) << 20);
}

// The limit including swap must never be below the limit without swap. Which one must be set first depends on
// the old values.
bool set_memory_v1(const std::string& group, const std::string& bytes) {
  write_group_file(group + "/memory.memsw.limit_in_bytes", bytes);
  const bool set = write_group_file(group + "/memory.limit_in_bytes", bytes);
  write_group_file(group + "/memory.memsw.limit_in_bytes", bytes);  // fails if swap is not accounted
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
  write_group_file(group + "/memory.swap.max", "0");  // may fail: not all kernels have it
  // may fail too
  write_group_file(group + "/cpu.max", quota_us(machine.vcpu) + " " + std::to_string(kPeriodUs));
  return write_group_file(group + "/memory.max", memory_bytes(machine)) &&
         write_group_file(group + "/pids.max", std::to_string(processes));
}

bool offers_children(const std::string& group) {
  const std::string file = group + "/cgroup.subtree_control";
  if (!write_group_file(file, "+memory +pids")) return false;
  write_group_file(file, "+cpu");
  return true;
}

// Enables the controllers for child groups. A group that contains processes cannot do that, unless it is the
// root group. In that case this process moves to a child group first.
bool prepare_cgroup_v2(const std::string& own) {
  if (offers_children(own)) return true;
  const std::string ours = own + kOurGroup;
  if (!make_group(ours)) return false;
  if (write_group_file(ours + "/cgroup.procs", "0") && offers_children(own)) return true;
  write_group_file(own + "/cgroup.procs", "0");
  ::rmdir(ours.c_str());
  return false;
}

// Removes our group from the end of the path if another worker of this host has already moved us there.
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
  const CgroupPaths places =
      cgroup_paths(read_group_file("/proc/self/cgroup"), read_group_file("/proc/self/mountinfo"));
  const std::string name = base::hex(base::sha256(data_dir)).substr(0, 8);
  GroupTree tree;
  if (!places.memory.empty() && !places.pids.empty()) {
    const bool made = tree.below(places.memory, name, false) && tree.below(places.pids, name, false);
    if (made) tree.kind_ = Kind::kV1;
    if (made && !places.cpu.empty()) tree.below(places.cpu, name, false);
  } else if (!places.unified.empty()) {
    const std::string own = above_ours(places.unified);
    if (prepare_cgroup_v2(own) && tree.below(own, name, true)) tree.kind_ = Kind::kV2;
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

// In version 1, a thread that moves itself through `tasks` does not block. Version 2 has no such file.
std::vector<base::Fd> GroupTree::cgroup_fds(const std::string& name) const {
  const char* const file = kind_ == Kind::kV1 ? "/tasks" : "/cgroup.procs";
  std::vector<base::Fd> files;
  for (const std::string& group : groups(name)) {
    base::Fd entrance(::open((group + file).c_str(), O_WRONLY | O_CLOEXEC));
    if (!entrance) return {};
    files.push_back(std::move(entrance));
  }
  return files;
}

LimitCounts GroupTree::counts(const std::string& name) const {
  LimitCounts counts;
  if (kind_ == Kind::kNone) return counts;
  const std::vector<std::string> all = groups(name);
  const std::string& memory = all.front();
  const std::string& pids = kind_ == Kind::kV1 ? all[1] : memory;
  const char* const kills = kind_ == Kind::kV1 ? "/memory.oom_control" : "/memory.events";
  const char* const peak = kind_ == Kind::kV1 ? "/memory.max_usage_in_bytes" : "/memory.peak";
  counts.memory_kills = number_in(read_group_file(memory + kills), "oom_kill");
  counts.memory_peak_bytes = number_of(read_group_file(memory + peak));
  counts.refused_processes = number_in(read_group_file(pids + "/pids.events"), "max");
  counts.processes_max = number_of(read_group_file(pids + "/pids.max"));
  return counts;
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
