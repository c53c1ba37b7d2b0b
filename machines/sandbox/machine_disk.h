#pragma once
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "machines/running_commands.h"
#include "platform/base/fd.h"
#include "platform/base/result.h"
#include "platform/process/spawner.h"
#include "schemas/machines/machine.h"

namespace millrace::machines {

// A temporary folder DATA/machines/trial-<uuid> for a trial. The destructor removes it. The next `sweep`
// removes the folders of killed processes. Paths and errors are as in machines/sandbox/machine_folder.h.
class ProbeFolder {
 public:
  // `machine_uid` becomes the owner of the folder.
  static base::Result<ProbeFolder> make(int root, const std::string& data_dir, uid_t machine_uid);
  // Removes the trial folders whose process is gone.
  static void sweep(int root, const std::string& data_dir);

  ProbeFolder(ProbeFolder&&) noexcept = default;
  ProbeFolder& operator=(ProbeFolder&&) = delete;
  ~ProbeFolder();

  const std::string& name() const { return name_; }
  const std::string& path() const { return path_; }

 private:
  ProbeFolder(std::string name, std::string path, base::Fd folder)
      : name_(std::move(name)), path_(std::move(path)), folder_(std::move(folder)) {}
  std::string name_;
  std::string path_;
  base::Fd folder_;  // locked until the trial is over
};

// The part of a machine's disk that a jail uses. Paths are resolved from `MachineDisks::root`.
struct MachinePaths {
  std::string folder;  // contains `workspace` and `artifacts`
  std::string workspace;
  std::string artifacts;  // one folder per execution
  bool image = false;
  // The lock of an image. Each jail gets a copy, so no other process mounts the image while a jail is left.
  std::shared_ptr<const base::Fd> lock;
};

// The disks of the machines. A disk is either the folder DATA/machines/<id>/ with `workspace` and `artifacts`
// in it, or an image of the machine's size, DATA/machines/<id>/disk.img, that contains both. The image is
// mounted at DATA/machines/<id>/disk, visible to our jails only. A machine whose workspace was created as a
// folder, before images were supported, keeps its folder. Thread-safe. Errors are as in
// machines/sandbox/machine_folder.h, and kMachineNotRoutable, whose message is for the machine's owner.
class MachineDisks {
 public:
  // Makes a trial image if images may work on this host, and removes the trial folders of killed processes.
  // Blocks for about 50 ms.
  // `on_disk`: see Sandbox::Options.
  MachineDisks(std::string data_dir, process::Spawner& spawner, RunningCommands& running_commands,
               bool use_images,
               std::function<void(const base::Uuid& machine, bool is_writable)> on_disk = {});
  // Unmounts all mounted images.
  ~MachineDisks();
  MachineDisks(const MachineDisks&) = delete;
  MachineDisks& operator=(const MachineDisks&) = delete;

  bool images() const { return images_; }
  int root() const { return root_.get(); }

  // Creates, grows and mounts the disk, unless this process has already done so. Removes artifacts that a
  // killed process left behind. An image whose filesystem has become read-only, because the host's disk
  // failed or was full, is checked and mounted again; until its other commands have ended, this is
  // kMachineNotRoutable. If one of `stops` becomes readable, the call fails as process::capture does;
  // call it again later.
  base::Result<MachinePaths> open(const schemas::Machine& machine, uid_t uid, const std::vector<int>& stops);
  // Prepares a trial folder like the folder of a machine.
  base::Result<MachinePaths> open_folder_alone(const ProbeFolder& trial, uid_t uid);
  // Looks whether the disk has become read-only, and reports it once. For after a command that failed.
  void check(const base::Uuid& machine);
  // Unmounts the disk. It stays mounted if it is still in use or if the machine runs a command again.
  void close(const base::Uuid& machine);
  // Removes the disk and everything on it. kOverloaded: another process uses it.
  base::Status remove(const base::Uuid& machine);

 private:
  struct Disk {
    std::mutex mutex;
    bool open = false;
    bool needs_check = false;      // its filesystem had become read-only
    std::optional<bool> reported;  // whether it is writable
    MachinePaths paths;
  };
  std::shared_ptr<Disk> disk_of(const base::Uuid& machine);
  std::string folder_of(const base::Uuid& machine) const;
  // Creates `workspace` and `artifacts` in the folder of `paths`.
  base::Status make_folders(MachinePaths& paths, uid_t uid);
  base::Status open_image(const schemas::Machine& machine, const std::string& folder, uid_t uid,
                          MachinePaths& paths, const std::vector<int>& stops, bool needs_check);
  void drop_read_only(const base::Uuid& machine, Disk& disk);
  void report(const base::Uuid& machine, Disk& disk, bool is_writable);
  base::Status try_image();

  const std::string data_dir_;
  process::Spawner& spawner_;
  RunningCommands& running_commands_;
  base::Fd root_;
  bool images_ = false;
  const std::function<void(const base::Uuid& machine, bool is_writable)> on_disk_;
  std::mutex mutex_;
  std::map<base::Uuid, std::shared_ptr<Disk>> disks_;
};

}  // namespace millrace::machines
