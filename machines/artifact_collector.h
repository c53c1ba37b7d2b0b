#pragma once
#include <string>
#include <vector>

#include "machines/driver.h"

namespace millrace::machines {

struct CollectedArtifacts {
  std::vector<ArtifactFile> files;  // by their names
  std::string note;                 // CommandEnd::artifacts_note
};

// What a command left in `folder`, which nobody writes any more: regular files of one name each, of the
// sizes, names and number of schemas/artifact.h, in sub-folders up to 16 deep; 10,000 entries are looked at.
// Nothing that lies there can block it or lead it out of the folder.
CollectedArtifacts collect_artifacts(int folder);

}  // namespace millrace::machines
