#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platform/base/result.h"

namespace millrace::cli {

// The folders and the file of an artifact's name; nullopt: it leads out of the folder that it is below
// ("..", a beginning "/"), or is no name at all.
std::optional<std::vector<std::string>> path_below(std::string_view name);

// A file that is written under another name beside its place and gets its own once it is whole. What has its
// name is replaced, not written into. Errors say what could not be made.
class PartialFile {
 public:
  // Below a folder, which is made if it is not there, with folders of its own as `name` says. No symbolic
  // link below `folder` is followed.
  static base::Result<PartialFile> below(const std::string& folder, const std::string& name);
  // At this path; its folder is there. A device or a pipe is written into.
  static base::Result<PartialFile> at(const std::string& path);
  ~PartialFile();  // what is not whole is removed
  PartialFile(PartialFile&& other) noexcept;
  PartialFile& operator=(PartialFile&&) = delete;

  // False: the disk refused; `finish` says why.
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
