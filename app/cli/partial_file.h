#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platform/base/result.h"

namespace millrace::cli {

// Splits an artifact's name into folders and file name. nullopt: the name is not valid or leads out of its
// folder ("..", a leading "/").
std::optional<std::vector<std::string>> path_below(std::string_view name);

// A file that is written under a temporary name in its folder and renamed when it is complete. An existing
// file of that name is replaced, not overwritten in place. Errors name what could not be created.
class PartialFile {
 public:
  // Creates the file `name`, which may contain sub-folders, below `folder`. Missing folders are created.
  // Symbolic links below `folder` are not followed.
  static base::Result<PartialFile> below(const std::string& folder, const std::string& name);
  // Creates the file at this path, whose folder must exist. A device or a pipe is written to directly.
  static base::Result<PartialFile> at(const std::string& path);
  ~PartialFile();  // removes an incomplete file
  PartialFile(PartialFile&& other) noexcept;
  PartialFile& operator=(PartialFile&&) = delete;

  // False: writing failed; `finish` returns the error.
  bool write(std::string_view bytes);
  base::Status finish();

 private:
  PartialFile(int folder, std::string name, std::string shown);
  base::Status open();
  base::Error failure(int number) const;

  int folder_ = -1, file_ = -1;
  std::string name_, partial_, shown_;
  int problem_ = 0;  // errno of the first failure
};

}  // namespace millrace::cli
