#include "machines/sandbox/machine_folder.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "machines/sandbox/folder_entries.h"

namespace millrace::machines {
namespace {

base::Error not_made(const std::string& path) {
  return base::error(base::Code::kHostAgentFailed, "cannot create " + path + ": " + std::strerror(errno));
}

const char* below(const std::string& path) { return path.c_str() + 1; }

}  // namespace

base::Result<base::Fd> make_folder(int root, const FolderRule& rule) {
  if (::mkdirat(root, below(rule.path), 0700) != 0 && errno != EEXIST) return not_made(rule.path);
  // O_PATH works even if a command removed the owner's permissions on its folder.
  base::Fd fd(::openat(root, below(rule.path), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat found {};
  if (!fd || ::fstat(fd.get(), &found) != 0) return not_made(rule.path);
  const std::string self = "/proc/self/fd/" + std::to_string(fd.get());
  const bool owned = found.st_uid == rule.owner && found.st_gid == rule.owner;
  if (::geteuid() == 0 && !owned && ::chown(self.c_str(), rule.owner, rule.owner) != 0) {
    return not_made(rule.path);
  }
  const bool right = (found.st_mode & 07777) == rule.mode;
  if (!right && ::chmod(self.c_str(), rule.mode) != 0) return not_made(rule.path);
  return fd;
}

base::Fd open_folder(int root, const std::string& path) {
  return base::Fd(::openat(root, below(path), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

bool has_entries(int root, const std::string& path) {
  const base::Fd folder = open_folder(root, path);
  return folder && !names_in(folder.get(), 1).empty();
}

bool is_full(int root, const std::string& path) {
  constexpr std::uint64_t kLeftMin = std::uint64_t{1} << 20;
  const base::Fd folder = open_folder(root, path);
  struct statvfs system {};
  if (!folder || ::fstatvfs(folder.get(), &system) != 0) return false;
  return std::uint64_t{system.f_bavail} * system.f_frsize < kLeftMin || system.f_favail == 0;
}

// Flags like ST_RDONLY do not show that the kernel stopped writing after an error.
bool is_writable(int root, const std::string& path) {
  const base::Fd file(::openat(root, below(path), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  return file || (errno != EROFS && errno != EIO);
}

base::Status make_machines_folder(int root, const std::string& data_dir) {
  // Gets the owner of DATA, because root may act for the gateway's user (`millrace doctor`).
  struct stat data {};
  if (::stat(data_dir.c_str(), &data) != 0) return not_made(data_dir);
  auto made = make_folder(root, {data_dir + "/machines", 0711, data.st_uid});
  return made ? base::Status() : base::Status(std::move(made.error()));
}

base::Result<std::string> make_machine_folder(int root, const std::string& data_dir, const std::string& name,
                                              uid_t uid) {
  if (auto all = make_machines_folder(root, data_dir); !all) return std::move(all.error());
  std::string own = data_dir + "/machines/" + name;
  if (auto made = make_folder(root, {own, 0700, uid}); !made) return std::move(made.error());
  return own;
}

}  // namespace millrace::machines
