#include "machines/ssh_folder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <sys/stat.h>

namespace millrace::machines {
namespace {

namespace fs = std::filesystem;

base::Error refused(const std::string& act, const std::string& path, const std::string& why) {
  return base::error(base::Code::kHostAgentFailed, "cannot " + act + " " + path + ": " + why);
}

bool in_use(const fs::directory_entry& entry) {
  std::error_code failed;
  if (!fs::is_directory(entry.symlink_status(failed))) return false;
  const auto lock = FolderLock::try_now(entry.path());
  return lock && !*lock;
}

// REQUIRES the lock of `folder`: nobody is between making a folder there and its lock.
base::Status clean(const std::string& folder) {
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    if (in_use(entry)) continue;
    fs::remove_all(entry.path(), failed);
    if (failed) break;
  }
  return failed ? base::Status(refused("clean", folder, failed.message())) : base::Status();
}

}  // namespace

base::Status make_private(const std::string& path) {
  const bool made = (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) && ::chmod(path.c_str(), 0700) == 0;
  return made ? base::Status() : base::Status(refused("make", path, std::strerror(errno)));
}

base::Result<std::unique_ptr<SshFolder>> SshFolder::open(const std::string& data_dir) {
  const std::string folder = data_dir + "/ssh";
  if (auto made = make_private(folder); !made) return std::move(made.error());
  const auto alone = FolderLock::wait(folder);
  if (!alone) return refused("use", folder, alone.error().message);
  if (auto cleaned = clean(folder); !cleaned) return std::move(cleaned.error());
  std::string own = folder + "/XXXXXX";
  if (::mkdtemp(own.data()) == nullptr) return refused("make", own, std::strerror(errno));
  auto lock = FolderLock::wait(own);
  if (!lock) return refused("use", own, lock.error().message);
  return std::unique_ptr<SshFolder>(new SshFolder(std::move(own), *std::move(lock)));
}

SshFolder::~SshFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace millrace::machines
