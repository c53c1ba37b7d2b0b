#include "machines/sandbox/machine_limits.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include <poll.h>

#include "platform/base/log.h"

namespace millrace::machines {
namespace {

// the first in the current groups; another worker may remove empty groups meanwhile
constexpr int kCgroupAttempts = 3;

MachineLimits::Kind kind_of(GroupTree::Kind kind) {
  switch (kind) {
    case GroupTree::Kind::kNone:
      return MachineLimits::Kind::kRlimits;
    case GroupTree::Kind::kV1:
      return MachineLimits::Kind::kCgroupV1;
    case GroupTree::Kind::kV2:
      return MachineLimits::Kind::kCgroupV2;
  }
  return MachineLimits::Kind::kRlimits;
}

}  // namespace

std::string_view MachineLimits::name(Kind kind) {
  switch (kind) {
    case Kind::kRlimits:
      return "rlimits";
    case Kind::kCgroupV1:
      return "cgroup-v1";
    case Kind::kCgroupV2:
      return "cgroup-v2";
  }
  return "rlimits";
}

MachineLimits::MachineLimits(const std::string& data_dir, unsigned processes, bool use_cgroups)
    : data_dir_(data_dir), processes_(processes) {
  if (use_cgroups) tree_ = GroupTree::make(data_dir_);
  used_ = tree_.kind() != GroupTree::Kind::kNone;
}

MachineLimits::~MachineLimits() { give_up(); }

MachineLimits::Kind MachineLimits::kind() const {
  const std::lock_guard lock(mutex_);
  return kind_of(tree_.kind());
}

void MachineLimits::give_up() {
  const std::lock_guard lock(mutex_);
  for (const auto& [name, size] : sizes_) remove_groups(name);
  sizes_.clear();
  tree_.leave({});
  used_ = false;
}

// Creates the new tree before it leaves the old one, because they may be the same.
void MachineLimits::settle() {
  GroupTree new_tree = GroupTree::make(data_dir_);
  if (!new_tree.same_place(tree_)) {
    for (const auto& [name, size] : sizes_) tree_.remove(name);
    sizes_.clear();
  }
  tree_.leave(new_tree);
  tree_ = std::move(new_tree);
}

bool MachineLimits::set_groups(const schemas::Machine& machine, const std::string& name) {
  const Size size{machine.memory_mib, machine.vcpu};
  const auto known = sizes_.find(name);
  if (known != sizes_.end() && known->second == size) return true;
  // Running processes may already use more than the new size. The limit is then set before the next command.
  if (!tree_.set(machine, name, processes_)) return known != sizes_.end();
  sizes_[name] = size;
  return true;
}

std::vector<base::Fd> MachineLimits::enter(const schemas::Machine& machine, const std::string& name) {
  std::vector<base::Fd> files;
  if (set_groups(machine, name)) files = tree_.cgroup_fds(name);
  if (files.empty()) sizes_.erase(name);
  return files;
}

MachineLimits::CgroupFds MachineLimits::cgroup_fds(const schemas::Machine& machine, const std::string& name) {
  const std::lock_guard lock(mutex_);
  CgroupFds found;
  if (!used_) return found;
  int problem = 0;
  for (int i = 0; i < kCgroupAttempts && found.files.empty(); ++i) {
    if (i > 0) settle();
    found.files = enter(machine, name);
    if (i == 0) problem = errno;
  }
  if (!found.files.empty()) found.kind = kind_of(tree_.kind());
  note(name, !found.files.empty(), problem);
  return found;
}

void MachineLimits::note(const std::string& name, bool bounded, int problem) {
  if (bounded) {
    lost_.erase(name);
  } else if (lost_.insert(name).second) {
    base::log_warn("machine_limits_lost",
                   {{"machine", name},
                    {"reason", "its control group cannot be created: " + std::string(std::strerror(problem))},
                    {"now", "rlimits"}});
  }
}

LimitCounts MachineLimits::counts(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  return tree_.counts(name);
}

void MachineLimits::remove(const std::string& name) {
  const std::lock_guard lock(mutex_);
  sizes_.erase(name);
  lost_.erase(name);
  remove_groups(name);
}

void MachineLimits::remove_groups(const std::string& name) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (!tree_.remove(name) && std::chrono::steady_clock::now() < deadline) ::poll(nullptr, 0, 10);
}

}  // namespace millrace::machines
