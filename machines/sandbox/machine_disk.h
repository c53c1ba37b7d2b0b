#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <sys/types.h>

#include "machines/machine_uses.h"
#include "platform/base/fd.h"
#include "platform/base/result.h"
#include "platform/process/spawner.h"
#include "schemas/machines/machine.h"

namespace millrace::machines {

// A folder beside those of the machines, DATA/machines/trial-<uuid>, for a trial. It goes with this; what a
// killed process left of its own is removed by the next `sweep`. Paths and errors as
// machines/sandbox/machine_folder.h.
class TrialFolder {
 public:
  // Its `machine_uid` is the owner of the folder.
  static base::Result<TrialFolder> make(int root, const std::string& data_dir, uid_t machine_uid);
  // Those whose process is gone.
  static void sweep(int root, const std::string& data_dir);

  TrialFolder(TrialFolder&&) noexcept = default;
  TrialFolder& operator=(TrialFolder&&) = delete;
  ~TrialFolder();

  const std::string& name() const { return name_; }
  const std::string& path() const { return path_; }

 private:
  TrialFolder(std::string name, std::string path, base::Fd folder)
      : name_(std::move(name)), path_(std::move(path)), folder_(std::move(folder)) {}
  std::string name_;
  std::string path_;
  base::Fd folder_;  // locked as long as the trial goes on
};

// What a jail sees of its machine. Paths are looked up from `MachineDisks::root`.
struct MachinePlace {
  std::string folder;  // that both are in
  std::string workspace;
  std::string artifacts;  // folders of executions
  bool image = false;
  // Of an image: each jail is handed a copy, so that no other process mounts it while one is left.
  std::shared_ptr<const base::Fd> lock;
};

// The disks of the machines: DATA/machines/<id>/ with `workspace` and `artifacts` in it, or both on an image
// of the machine's size, DATA/machines/<id>/disk.img, which is mounted at …/disk for our jails alone. A
// machine that had a workspace before there were images keeps its folder. Thread-safe; errors as
// machines/sandbox/machine_folder.h, but kMachineNotRoutable: its message is for the machine's owner.
class MachineDisks {
 public:
  // Tries an image, where one may work at all, and removes what killed trials left. Blocks for some 50 ms.
  MachineDisks(std::string data_dir, process::Spawner& spawner, MachineUses& uses, bool use_images);
  // Unmounts what is mounted.
  ~MachineDisks();
  MachineDisks(const MachineDisks&) = delete;
  MachineDisks& operator=(const MachineDisks&) = delete;

  bool images() const { return images_; }
  int root() const { return root_.get(); }

  // Makes, grows and mounts it, unless this process has. What a killed process left of artifacts goes.
  // `stops`: as process::capture's; it is opened another time then.
  base::Result<MachinePlace> open(const schemas::Machine& machine, uid_t uid, const std::vector<int>& stops);
  // A folder like a machine's, for a trial.
  base::Result<MachinePlace> open_folder_alone(const TrialFolder& trial, uid_t uid);
  // Unmounts it, unless something in it is open or the machine is in use again: then it stays as it is.
  void close(const base::Uuid& machine);
  // It and all that is on it goes. kOverloaded: another process has it.
  base::Status remove(const base::Uuid& machine);

 private:
  struct Disk {
    std::mutex mutex;
    bool open = false;
    MachinePlace place;
  };
  std::shared_ptr<Disk> disk_of(const base::Uuid& machine);
  std::string folder_of(const base::Uuid& machine) const;
  // `workspace` and `artifacts` in the folder of `place`.
  base::Status make_places(MachinePlace& place, uid_t uid);
  base::Status open_image(const schemas::Machine& machine, const std::string& folder, uid_t uid,
                          MachinePlace& place, const std::vector<int>& stops);
  base::Status try_image();

  const std::string data_dir_;
  process::Spawner& spawner_;
  MachineUses& uses_;
  base::Fd root_;
  bool images_ = false;
  std::mutex mutex_;
  std::map<base::Uuid, std::shared_ptr<Disk>> disks_;
};

}  // namespace millrace::machines
