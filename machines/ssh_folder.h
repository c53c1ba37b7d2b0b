#pragma once
#include <memory>
#include <string>

#include "machines/folder_lock.h"
#include "platform/base/result.h"

namespace millrace::machines {

// A folder (0700) that may be there already. kHostAgentFailed: the disk refuses.
base::Status make_private(const std::string& path);

// Where a process keeps the keys of its running commands: a folder of its own (0700) in DATA/ssh, held by a
// lock for as long as this lives, and removed with it.
class SshFolder {
 public:
  // Makes DATA/ssh (0700) if it is not there, and removes what processes have left in it that are gone.
  // kHostAgentFailed: the disk refuses. Blocks on the disk.
  static base::Result<std::unique_ptr<SshFolder>> open(const std::string& data_dir);
  ~SshFolder();
  SshFolder(const SshFolder&) = delete;
  SshFolder& operator=(const SshFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  SshFolder(std::string path, FolderLock lock) : path_(std::move(path)), lock_(std::move(lock)) {}
  const std::string path_;
  const FolderLock lock_;
};

}  // namespace millrace::machines
