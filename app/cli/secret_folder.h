#pragma once
#include <string>

#include "platform/base/result.h"

namespace millrace::cli {

// A folder of ours alone (0700) in $XDG_RUNTIME_DIR, which is memory, or the usual place for such things;
// removed with all that is in it at the end.
class SecretFolder {
 public:
  static base::Result<SecretFolder> make();
  ~SecretFolder();
  SecretFolder(SecretFolder&& other) noexcept;
  SecretFolder& operator=(SecretFolder&&) = delete;

  std::string path(const std::string& name) const { return path_ + "/" + name; }
  // A new file of ours alone. kInternal names it.
  base::Status write(const std::string& name, const std::string& content) const;

 private:
  explicit SecretFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace millrace::cli
