#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <sys/types.h>

#include "platform/base/fd.h"
#include "platform/base/result.h"
#include "platform/process/spawner.h"

// Disk images: files that contain a filesystem. Errors are kHostAgentFailed; their messages are for the
// operator only. All functions block.
namespace millrace::machines {

// The name of a required program that is not installed. Empty: all are installed.
std::string missing_image_program();

// How the filesystem programs are started. They are killed when this process ends, except for the program
// that grows a filesystem: interrupting it would corrupt the filesystem. Members are borrowed.
struct ImageTools {
  process::Spawner& spawner;
  int lock = -1;  // from lock_image; each program holds it until it ends; -1: the image is not shared
  std::vector<int> stops = {};  // when one becomes readable, a slow program is killed and the call fails
};

// Creates the image (sparse, 0600) if it does not exist, or grows it to `bytes`. It never shrinks. The root
// folder of the filesystem belongs to `owner`. REQUIRES: the image is not mounted.
base::Status make_image(const ImageTools& tools, const std::string& path, std::uint64_t bytes, uid_t owner);

// Checks the filesystem and repairs it. REQUIRES: as make_image.
base::Status check_image(const ImageTools& tools, const std::string& path);

// The mount is visible only to the children of `spawner` (Spawner::Options::own_mounts).
base::Status mount_image(const ImageTools& tools, const std::string& image, const std::string& folder);
// False: the filesystem is still in use.
bool unmount_image(process::Spawner& spawner, const std::string& folder);
// Detaches the mount (lazy unmount): it disappears now and is released once nothing in it is open.
void detach_image(process::Spawner& spawner, const std::string& folder);

// Takes the lock file at `path` (0600). Only the process that holds it may mount the image for its jails. The
// lock is held until every copy of the descriptor is closed, so hand one copy to each jail. Waits some
// seconds for jails of a killed process to end. kMachineNotRoutable: another worker holds the lock.
base::Result<base::Fd> lock_image(const std::string& path);

}  // namespace millrace::machines
