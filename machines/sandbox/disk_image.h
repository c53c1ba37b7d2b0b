#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <sys/types.h>

#include "platform/base/fd.h"
#include "platform/base/result.h"
#include "platform/process/spawner.h"

// A file with a filesystem in it. Errors are kHostAgentFailed, for the operator alone; all block.
namespace millrace::machines {

// Where the programs for it are missing: which; empty: they are here.
std::string missing_image_program();

// What the programs are started with. They end with this process, except for one that makes a filesystem
// larger: half-way it would be broken. Borrowed.
struct ImageTools {
  process::Spawner& spawner;
  int lock = -1;                // of lock_image, which each of them holds to its end; -1: nobody else's image
  std::vector<int> stops = {};  // readable: a program that takes long is killed, and the call fails
};

// Makes it (sparse, 0600) unless it is there, or lets it grow to `bytes`; its root folder is `owner`'s. It
// never shrinks. REQUIRES: nobody has it mounted.
base::Status make_image(const ImageTools& tools, const std::string& path, std::uint64_t bytes, uid_t owner);

// For the children of `spawner` alone (Spawner::Options::own_mounts).
base::Status mount_image(const ImageTools& tools, const std::string& image, const std::string& folder);
// False: something in it is still open.
bool unmount_image(process::Spawner& spawner, const std::string& folder);
// Nobody sees it any more; it goes once nothing in it is open.
void detach_image(process::Spawner& spawner, const std::string& folder);

// The lock of the one process whose jails may have an image mounted, at `path` (0600). It holds until each
// copy of the descriptor is closed: hand one to each jail. Waits some seconds for jails of a process that was
// killed. kMachineNotRoutable: another worker has it.
base::Result<base::Fd> lock_image(const std::string& path);

}  // namespace millrace::machines
