#include "machines/machine_folder.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "platform/process/fd.h"

namespace millrace::machines {
namespace {

struct Folder {
  std::string path;
  mode_t mode;
  uid_t owner;
};

base::Error refused(const std::string& path) {
  return base::error(base::Code::kHostAgentFailed, "cannot make " + path + ": " + std::strerror(errno));
}

base::Status make_folder(const Folder& folder) {
  if (::mkdir(folder.path.c_str(), 0700) != 0 && errno != EEXIST) return refused(folder.path);
  // By O_PATH: a command may have taken its folder's owner every right to it.
  const process::Fd fd(::open(folder.path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat found {};
  if (!fd || ::fstat(fd.get(), &found) != 0) return refused(folder.path);
  const std::string self = "/proc/self/fd/" + std::to_string(fd.get());
  const bool owned = found.st_uid == folder.owner && found.st_gid == folder.owner;
  if (::geteuid() == 0 && !owned && ::chown(self.c_str(), folder.owner, folder.owner) != 0) {
    return refused(folder.path);
  }
  const bool right = (found.st_mode & 07777) == folder.mode;
  if (!right && ::chmod(self.c_str(), folder.mode) != 0) return refused(folder.path);
  return {};
}

}  // namespace

base::Result<std::string> machine_workspace(const std::string& data_dir, const std::string& name, uid_t uid) {
  const std::string machines = data_dir + "/machines";
  const std::string own = machines + "/" + name;
  std::string workspace = own + "/workspace";
  // Like DATA itself: root may be here on behalf of the gateway's user (`millrace doctor`).
  struct stat data {};
  if (::stat(data_dir.c_str(), &data) != 0) return refused(data_dir);
  for (const Folder& folder :
       {Folder{machines, 0711, data.st_uid}, Folder{own, 0700, uid}, Folder{workspace, 0700, uid}}) {
    if (auto made = make_folder(folder); !made) return std::move(made.error());
  }
  return workspace;
}

}  // namespace millrace::machines
