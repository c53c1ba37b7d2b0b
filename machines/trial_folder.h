#pragma once
#include <string>

#include <sys/types.h>

#include "platform/base/fd.h"
#include "platform/base/result.h"

namespace millrace::machines {

// A folder beside those of the machines, DATA/machines/trial-<uuid>, for a trial. It goes with this; what a
// killed process left of its own is removed by the next `sweep`. Paths and errors as
// machines/machine_folder.h.
class TrialFolder {
 public:
  // Its `machine_uid` is the owner of the folder.
  static base::Result<TrialFolder> make(int root, const std::string& data_dir, uid_t machine_uid);
  // Those whose process is gone.
  static void sweep(int root, const std::string& data_dir);

  TrialFolder(TrialFolder&&) noexcept = default;
  TrialFolder& operator=(TrialFolder&&) = delete;
  ~TrialFolder();

  const std::string& name() const { return name_; }
  const std::string& path() const { return path_; }

 private:
  TrialFolder(std::string name, std::string path, base::Fd folder)
      : name_(std::move(name)), path_(std::move(path)), folder_(std::move(folder)) {}
  std::string name_;
  std::string path_;
  base::Fd folder_;  // locked as long as the trial goes on
};

}  // namespace millrace::machines
