#pragma once
#include <string>

#include <sys/types.h>

#include "platform/base/fd.h"
#include "platform/base/result.h"

// Folders of machines. Paths are absolute and resolved from `root`, the root folder in the mount namespace of
// the jails (process::Spawner::root): images are mounted only there. Errors are kHostAgentFailed. Their
// messages contain paths and are for the operator only.
namespace millrace::machines {

struct FolderRule {
  std::string path;
  mode_t mode;
  uid_t owner;  // used only if we are root
};

// Creates the folder, or corrects the mode and owner of an existing one, even if a command changed its mode.
// Returns it opened with O_PATH.
base::Result<base::Fd> make_folder(int root, const FolderRule& rule);

// Opens an existing folder for reading. No symbolic link in the path is followed. Empty: it does not exist.
base::Fd open_folder(int root, const std::string& path);

// True if the folder exists and is not empty.
bool has_entries(int root, const std::string& path);

// True if the file system of the folder has hardly any space left (1 MiB).
bool is_full(int root, const std::string& path);

// False: the file system of the folder refuses every write: it is read-only, or its disk fails.
bool is_writable(int root, const std::string& path);

// Creates DATA/machines (0711, with the owner of DATA).
base::Status make_machines_folder(int root, const std::string& data_dir);

// Creates DATA/machines if necessary, and in it the folder `name` (0700, owned by `uid`). Returns the path of
// that folder.
base::Result<std::string> make_machine_folder(int root, const std::string& data_dir, const std::string& name,
                                              uid_t uid);

}  // namespace millrace::machines
