#pragma once
#include <string>
#include <vector>

#include <sys/types.h>

#include "machines/driver.h"
#include "platform/base/fd.h"
#include "platform/base/result.h"

namespace millrace::machines {

struct CollectedArtifacts {
  std::vector<ArtifactFile> files;  // by their names
  std::string note;                 // CommandEnd::artifacts_note
};

// What a command left in `folder`, which nobody writes any more: regular files of one name each, of the
// sizes, names and number of schemas/machines/artifact.h, in sub-folders up to 16 deep; 10,000 entries are
// looked at. Nothing that lies there can block it or lead it out of the folder.
CollectedArtifacts collect_artifacts(int folder);

// The fresh folder of one execution's artifacts. It goes with its owner.
class ArtifactFolder {
 public:
  // `parent`/`name`, of `uid`; paths as in machines/sandbox/machine_folder.h.
  static base::Result<ArtifactFolder> make(int root, const std::string& parent, const std::string& name,
                                           uid_t uid);
  ArtifactFolder(ArtifactFolder&&) noexcept = default;
  ArtifactFolder& operator=(ArtifactFolder&&) = delete;
  ~ArtifactFolder();

  const std::string& path() const { return path_; }
  // REQUIRES: nobody writes to it any more.
  CollectedArtifacts collect() const;

  // Removes the folders below `parent` that no process owns: those of a process that was killed.
  static void sweep(int root, const std::string& parent);

 private:
  ArtifactFolder(base::Fd parent, base::Fd folder, std::string name, std::string path);
  base::Fd parent_;
  base::Fd folder_;  // locked while it is owned
  std::string name_;
  std::string path_;
};

}  // namespace millrace::machines
