#pragma once
#include <optional>
#include <string>

#include "platform/base/fd.h"
#include "platform/base/result.h"

namespace millrace::machines {

// A lock on a folder that is there, against other processes and other locks of this one. It ends with this,
// or with the process. Who goes into the folder without it is not kept out. Movable; not thread-safe.
class FolderLock {
 public:
  // Blocks until nobody else holds it. kInternal: `path` cannot be opened, or is no folder.
  static base::Result<FolderLock> wait(const std::string& path);
  // nullopt: somebody else holds it. Errors as above.
  static base::Result<std::optional<FolderLock>> try_now(const std::string& path);

 private:
  explicit FolderLock(base::Fd fd) : fd_(std::move(fd)) {}
  base::Fd fd_;
};

}  // namespace millrace::machines
