#pragma once
#include <string>
#include <vector>

#include "machines/driver.h"
#include "storage/job_outcomes.h"
#include "storage/store.h"

namespace millrace::workers {

// What a command has left, on its way into the store.
struct KeptArtifacts {
  std::vector<storage::JobOutcomes::NewArtifact> files;
  std::string note;  // what was not kept, for the client; empty: nothing
};

// Copies the files of `end` into blobs, as many as schemas/artifact.h allows; what a full disk or a bound
// refuses is left out and stands in the note. Ends early once `stop` says kill. Blocks on the disk.
KeptArtifacts keep_artifacts(storage::Store& store, machines::CommandEnd& end,
                             const machines::StopSwitch& stop);

}  // namespace millrace::workers
