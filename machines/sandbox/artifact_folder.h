#pragma once
#include <string>
#include <vector>

#include <sys/types.h>

#include "machines/driver.h"
#include "platform/base/fd.h"
#include "platform/base/result.h"

namespace millrace::machines {

struct CollectedArtifacts {
  std::vector<ArtifactFile> files;  // sorted by name
  std::string note;                 // CommandResult::artifacts_note
};

// Collects the files that a command left in `folder`. REQUIRES: no process writes to the folder any more.
// Takes regular files with a single hard link that satisfy the limits on size, name and number in
// schemas/machines/artifact.h, in sub-folders up to 16 levels deep. Visits at most 10,000 entries. No entry
// can make it block or leave the folder.
CollectedArtifacts collect_artifacts(int folder);

// A new, empty folder for the artifacts of one execution. The destructor removes it.
class ArtifactFolder {
 public:
  // Creates `parent`/`name`, owned by `uid`. Paths are as in machines/sandbox/machine_folder.h.
  static base::Result<ArtifactFolder> make(int root, const std::string& parent, const std::string& name,
                                           uid_t uid);
  ArtifactFolder(ArtifactFolder&&) noexcept = default;
  ArtifactFolder& operator=(ArtifactFolder&&) = delete;
  ~ArtifactFolder();

  const std::string& path() const { return path_; }
  // REQUIRES: no process writes to the folder any more.
  CollectedArtifacts collect() const;

  // Removes the folders below `parent` that no process has locked: their process was killed.
  static void sweep(int root, const std::string& parent);

 private:
  ArtifactFolder(base::Fd parent, base::Fd folder, std::string name, std::string path);
  base::Fd parent_;
  base::Fd folder_;  // locked during the lifetime of this object
  std::string name_;
  std::string path_;
};

}  // namespace millrace::machines
