#pragma once
#include <string>

#include <sys/types.h>

#include "platform/base/fd.h"
#include "platform/base/result.h"

// Folders of machines. Paths are absolute and looked up from `root`, the root folder as the jails see it
// (process::Spawner::root): what lies on an image is nowhere else. Errors are kHostAgentFailed, their message
// names the path: for the operator alone.
namespace millrace::machines {

struct FolderRule {
  std::string path;
  mode_t mode;
  uid_t owner;  // when we are root
};

// Makes it, or makes an old one so; whatever a command did to its mode. Returns it, O_PATH.
base::Result<base::Fd> make_folder(int root, const FolderRule& rule);

// An existing folder, to be read; no symbolic link in the path is followed. Empty: it is not there.
base::Fd open_folder(int root, const std::string& path);

// True if it is there and something is in it.
bool has_entries(int root, const std::string& path);

// Makes DATA/machines (0711, its owner DATA's).
base::Status make_machines_folder(int root, const std::string& data_dir);

// Makes what is missing of it and its folder `name` (0700, of `uid`), whose path it returns.
base::Result<std::string> make_machine_folder(int root, const std::string& data_dir, const std::string& name,
                                              uid_t uid);

}  // namespace millrace::machines
