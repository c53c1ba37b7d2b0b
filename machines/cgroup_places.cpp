#include "machines/cgroup_places.h"

#include <algorithm>
#include <map>
#include <vector>

namespace millrace::machines {
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
  std::string_view root;  // the group that is seen at its point
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

// Where `group` is seen. What lies outside of what is mounted is not.
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

CgroupPlaces cgroup_places(std::string_view memberships, std::string_view mounts) {
  const auto groups = groups_of(memberships);
  CgroupPlaces places;
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

}  // namespace millrace::machines
