#include "machines/sandbox/machine_disk.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "machines/sandbox/artifact_folder.h"
#include "machines/sandbox/disk_image.h"
#include "machines/sandbox/folder_entries.h"
#include "machines/sandbox/machine_folder.h"
#include "platform/base/ids.h"
#include "platform/base/log.h"

namespace millrace::machines {
namespace {

constexpr const char* kPrefix = "trial-";
constexpr std::size_t kNamesMax = 1'000'000;

std::string new_name() {
  const auto now = std::chrono::time_point_cast<base::WallTime::duration>(std::chrono::system_clock::now());
  return kPrefix + base::Uuid::make(now).str();
}

// Opens and locks the parent of all machine folders, so no other process sweeps a folder that has been
// created but not yet locked.
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

base::Result<ProbeFolder> ProbeFolder::make(int root, const std::string& data_dir, uid_t machine_uid) {
  if (auto all = make_machines_folder(root, data_dir); !all) return std::move(all.error());
  const base::Fd parent = locked_parent(root, data_dir);
  std::string name = new_name();
  auto path = make_machine_folder(root, data_dir, name, machine_uid);
  if (!path) return std::move(path.error());
  base::Fd folder = open_folder(root, *path);
  if (!parent || !folder || ::flock(folder.get(), LOCK_EX | LOCK_NB) != 0) {
    return base::error(base::Code::kHostAgentFailed, *path + ": " + std::strerror(errno));
  }
  return ProbeFolder(std::move(name), std::move(*path), std::move(folder));
}

void ProbeFolder::sweep(int root, const std::string& data_dir) {
  const base::Fd parent = locked_parent(root, data_dir);
  if (!parent) return;
  for (const std::string& name : names_in(parent.get(), kNamesMax)) {
    if (!name.starts_with(kPrefix)) continue;
    const std::string path = data_dir + "/machines/" + name;
    const base::Fd folder = open_folder(root, path);
    if (folder && ::flock(folder.get(), LOCK_EX | LOCK_NB) == 0) remove_folder(folder.get(), path);
  }
}

ProbeFolder::~ProbeFolder() {
  if (folder_) remove_folder(folder_.get(), path_);
}

namespace {

constexpr std::uint64_t kGib = std::uint64_t{1} << 30;
constexpr std::uint64_t kTrialBytes = std::uint64_t{2} << 20;
constexpr int kUnmountAttempts = 20;  // the last process of a jail may still be exiting
constexpr int kUnmountPauseMs = 50;
constexpr std::chrono::milliseconds kInUsePause{1'000};

std::string image_in(const std::string& folder) { return folder + "/disk.img"; }
std::string mount_in(const std::string& folder) { return folder + "/disk"; }
std::string lock_in(const std::string& folder) { return folder + "/disk.lock"; }

// A temporary error.
base::Error in_use() {
  base::Error error = base::error(base::Code::kOverloaded, "another worker uses this machine's disk");
  error.retry_after = kInUsePause;
  return error;
}

base::Error read_only() {
  return base::error(base::Code::kMachineNotRoutable, schemas::kReadOnlyDiskMessage);
}

bool unmounted(process::Spawner& spawner, const std::string& folder) {
  for (int i = 0; i < kUnmountAttempts; ++i) {
    if (i > 0) ::poll(nullptr, 0, kUnmountPauseMs);
    if (unmount_image(spawner, folder)) return true;
  }
  return false;
}

}  // namespace

MachineDisks::MachineDisks(std::string data_dir, process::Spawner& spawner, RunningCommands& running_commands,
                           bool use_images,
                           std::function<void(const base::Uuid& machine, bool is_writable)> on_disk)
    : data_dir_(std::move(data_dir)),
      spawner_(spawner),
      running_commands_(running_commands),
      on_disk_(std::move(on_disk)) {
  auto root = spawner.root();
  if (root) root_ = std::move(*root);
  ProbeFolder::sweep(this->root(), data_dir_);
  if (!use_images || ::geteuid() != 0 || !spawner.has_own_mounts()) return;
  const base::Status tried = try_image();
  images_ = tried.has_value();
  if (!images_) base::log_info("machine_disks_watched", {{"reason", tried.error().message}});
}

MachineDisks::~MachineDisks() {
  for (const auto& [machine, disk] : disks_) {
    if (disk->open && disk->paths.image) detach_image(spawner_, mount_in(folder_of(machine)));
  }
}

base::Status MachineDisks::try_image() {
  const std::string missing = missing_image_program();
  if (!missing.empty()) return base::error(base::Code::kHostAgentFailed, missing + " is not installed");
  auto trial = ProbeFolder::make(root(), data_dir_, 0);
  if (!trial) return std::move(trial.error());
  const std::string image = image_in(trial->path());
  const std::string mount = mount_in(trial->path());
  if (auto made = make_image({spawner_}, image, kTrialBytes, 0); !made) return made;
  if (auto point = make_folder(root(), {mount, 0700, 0}); !point) return std::move(point.error());
  base::Status tried = mount_image({spawner_}, image, mount);
  if (tried) detach_image(spawner_, mount);
  return tried;
}

std::string MachineDisks::folder_of(const base::Uuid& machine) const {
  return data_dir_ + "/machines/" + schemas::machine_id(machine);
}

std::shared_ptr<MachineDisks::Disk> MachineDisks::disk_of(const base::Uuid& machine) {
  const std::lock_guard lock(mutex_);
  auto& disk = disks_[machine];
  if (!disk) disk = std::make_shared<Disk>();
  return disk;
}

base::Status MachineDisks::make_folders(MachinePaths& paths, uid_t uid) {
  paths.workspace = paths.folder + "/workspace";
  paths.artifacts = paths.folder + "/artifacts";
  for (const std::string& path : {paths.workspace, paths.artifacts}) {
    if (auto made = make_folder(root(), {path, 0700, uid}); !made) return std::move(made.error());
  }
  return {};
}

base::Status MachineDisks::open_image(const schemas::Machine& machine, const std::string& folder, uid_t uid,
                                      MachinePaths& paths, const std::vector<int>& stops, bool needs_check) {
  auto lock = lock_image(lock_in(folder));
  if (!lock && needs_check && lock.error().code == base::Code::kMachineNotRoutable) return read_only();
  if (!lock) return std::move(lock.error());
  const ImageTools tools{spawner_, lock->get(), stops};
  const auto bytes = static_cast<std::uint64_t>(machine.storage_gib) * kGib;
  if (auto made = make_image(tools, image_in(folder), bytes, uid); !made) return made;
  if (needs_check) {
    if (auto checked = check_image(tools, image_in(folder)); !checked) return checked;
  }
  auto point = make_folder(root(), {mount_in(folder), 0700, uid});
  if (!point) return std::move(point.error());
  if (auto mounted = mount_image(tools, image_in(folder), mount_in(folder)); !mounted) return mounted;
  paths.image = true;
  paths.lock = std::make_shared<const base::Fd>(std::move(*lock));
  paths.folder = mount_in(folder);
  auto made = make_folders(paths, uid);
  if (!made) detach_image(spawner_, mount_in(folder));
  return made;
}

// Jails that still use the filesystem hold copies of the lock, so it is not checked before they have ended.
void MachineDisks::drop_read_only(const base::Uuid& machine, Disk& disk) {
  base::log_warn("machine_disk_read_only", {{"machine", schemas::machine_id(machine)},
                                            {"fix", "free space on the disk of the data directory"}});
  report(machine, disk, false);
  detach_image(spawner_, mount_in(folder_of(machine)));
  disk.paths = {};
  disk.open = false;
  disk.needs_check = true;
}

void MachineDisks::report(const base::Uuid& machine, Disk& disk, bool is_writable) {
  if (std::exchange(disk.reported, is_writable) == is_writable) return;
  if (on_disk_) on_disk_(machine, is_writable);
}

void MachineDisks::check(const base::Uuid& machine) {
  const auto disk = disk_of(machine);
  const std::lock_guard lock(disk->mutex);
  if (disk->open && disk->paths.image && !is_writable(root(), disk->paths.folder))
    report(machine, *disk, false);
}

base::Result<MachinePaths> MachineDisks::open(const schemas::Machine& machine, uid_t uid,
                                              const std::vector<int>& stops) {
  const auto disk = disk_of(machine.id);
  const std::lock_guard lock(disk->mutex);
  if (disk->open && disk->paths.image && !is_writable(root(), disk->paths.folder))
    drop_read_only(machine.id, *disk);
  if (disk->open) {
    // A command may have removed its user's permissions on the folders.
    if (auto made = make_folders(disk->paths, uid); !made) return std::move(made.error());
    return disk->paths;
  }
  auto folder = make_machine_folder(root(), data_dir_, schemas::machine_id(machine.id), uid);
  if (!folder) return std::move(folder.error());
  const bool has_image = ::access(image_in(*folder).c_str(), F_OK) == 0;
  if (has_image && !images_) {
    return base::error(base::Code::kMachineNotRoutable,
                       "the machine's disk is an image, which this worker cannot mount");
  }
  MachinePaths paths;
  paths.folder = *folder;
  const bool image = has_image || (images_ && !has_entries(root(), *folder + "/workspace"));
  const base::Status opened =
      image ? open_image(machine, *folder, uid, paths, stops, disk->needs_check) : make_folders(paths, uid);
  if (!opened) return opened.error();
  disk->needs_check = false;
  if (paths.image) report(machine.id, *disk, true);
  ArtifactFolder::sweep(root(), paths.artifacts);
  disk->open = true;
  disk->paths = paths;
  return paths;
}

base::Result<MachinePaths> MachineDisks::open_folder_alone(const ProbeFolder& trial, uid_t uid) {
  MachinePaths paths;
  paths.folder = trial.path();
  if (auto made = make_folders(paths, uid); !made) return std::move(made.error());
  return paths;
}

void MachineDisks::close(const base::Uuid& machine) {
  const auto disk = disk_of(machine);
  const std::lock_guard lock(disk->mutex);
  if (!disk->open || running_commands_.any(machine)) return;
  if (disk->paths.image && !unmounted(spawner_, mount_in(folder_of(machine)))) return;
  disk->open = false;
  disk->paths = {};
}

base::Status MachineDisks::remove(const base::Uuid& machine) {
  const std::string folder = folder_of(machine);
  const auto disk = disk_of(machine);
  const std::lock_guard lock(disk->mutex);
  if (disk->open && disk->paths.image) detach_image(spawner_, mount_in(folder));
  const MachinePaths paths = std::exchange(disk->paths, {});  // holds our lock, if we have it
  disk->open = false;
  const base::Fd own = open_folder(root(), folder);
  if (!own) {
    if (errno == ENOENT) return {};
    return base::error(base::Code::kHostAgentFailed, folder + ": " + std::strerror(errno));
  }
  ::fchmod(own.get(), 0700);
  const auto own_lock = paths.lock ? base::Result<base::Fd>(base::Fd()) : lock_image(lock_in(folder));
  if (!own_lock) {
    return own_lock.error().code == base::Code::kMachineNotRoutable ? in_use() : own_lock.error();
  }
  if (!remove_below(own.get()) || ::rmdir(folder.c_str()) != 0) {
    return base::error(base::Code::kHostAgentFailed, "something in " + folder + " cannot be removed");
  }
  const std::lock_guard all(mutex_);
  disks_.erase(machine);
  return {};
}

}  // namespace millrace::machines
