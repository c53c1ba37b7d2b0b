#include "machines/trial_folder.h"

#include <cerrno>
#include <chrono>
#include <cstring>

#include <sys/file.h>
#include <unistd.h>

#include "machines/folder_entries.h"
#include "machines/machine_folder.h"
#include "platform/base/ids.h"

namespace millrace::machines {
namespace {

constexpr const char* kPrefix = "trial-";
constexpr std::size_t kNamesMax = 1'000'000;

std::string new_name() {
  const auto now = std::chrono::time_point_cast<base::WallTime::duration>(std::chrono::system_clock::now());
  return kPrefix + base::Uuid::make(now).str();
}

// The folder of all, locked: nobody sweeps what another has made and not yet locked.
base::Fd locked_parent(int root, const std::string& data_dir) {
  base::Fd parent = open_folder(root, data_dir + "/machines");
  while (parent && ::flock(parent.get(), LOCK_EX) != 0) {
    if (errno != EINTR) return {};
  }
  return parent;
}

void remove_folder(int folder, const std::string& path) {
  if (remove_below(folder)) ::rmdir(path.c_str());
}

}  // namespace

base::Result<TrialFolder> TrialFolder::make(int root, const std::string& data_dir, uid_t machine_uid) {
  if (auto all = make_machines_folder(root, data_dir); !all) return std::move(all.error());
  const base::Fd parent = locked_parent(root, data_dir);
  std::string name = new_name();
  auto path = make_machine_folder(root, data_dir, name, machine_uid);
  if (!path) return std::move(path.error());
  base::Fd folder = open_folder(root, *path);
  if (!parent || !folder || ::flock(folder.get(), LOCK_EX | LOCK_NB) != 0) {
    return base::error(base::Code::kHostAgentFailed, *path + ": " + std::strerror(errno));
  }
  return TrialFolder(std::move(name), std::move(*path), std::move(folder));
}

void TrialFolder::sweep(int root, const std::string& data_dir) {
  const base::Fd parent = locked_parent(root, data_dir);
  if (!parent) return;
  for (const std::string& name : names_in(parent.get(), kNamesMax)) {
    if (!name.starts_with(kPrefix)) continue;
    const std::string path = data_dir + "/machines/" + name;
    const base::Fd folder = open_folder(root, path);
    if (folder && ::flock(folder.get(), LOCK_EX | LOCK_NB) == 0) remove_folder(folder.get(), path);
  }
}

TrialFolder::~TrialFolder() {
  if (folder_) remove_folder(folder_.get(), path_);
}

}  // namespace millrace::machines
