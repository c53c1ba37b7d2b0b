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
  const process::Fd fd(::open(folder.path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat found {};
  if (!fd || ::fstat(fd.get(), &found) != 0) return refused(folder.path);
  const bool owned = found.st_uid == folder.owner && found.st_gid == folder.owner;
  if (::geteuid() == 0 && !owned && ::fchown(fd.get(), folder.owner, folder.owner) != 0) {
    return refused(folder.path);
  }
  const bool right = (found.st_mode & 07777) == folder.mode;
  if (!right && ::fchmod(fd.get(), folder.mode) != 0) return refused(folder.path);
  return {};
}

}  // namespace

base::Result<std::string> machine_workspace(const std::string& data_dir, const std::string& name, uid_t uid) {
  const std::string machines = data_dir + "/machines";
  const std::string own = machines + "/" + name;
  std::string workspace = own + "/workspace";
  for (const Folder& folder :
       {Folder{machines, 0711, ::geteuid()}, Folder{own, 0700, uid}, Folder{workspace, 0700, uid}}) {
    if (auto made = make_folder(folder); !made) return std::move(made.error());
  }
  return workspace;
}

}  // namespace millrace::machines
