#pragma once
#include <string>
#include <vector>

#include "machines/driver.h"
#include "platform/base/result.h"
#include "storage/jobs/job_claims.h"
#include "storage/jobs/job_outcomes.h"
#include "storage/store.h"

namespace millrace::workers {

// The artifacts of a command, ready to be written to the store.
struct StagedArtifacts {
  std::vector<storage::JobOutcomes::NewArtifact> files;
  std::string note;  // for the client: which files were not kept; empty: all were kept
};

// What the stored_bytes of the owners of `execution` (its id) still allow.
std::int64_t stored_bytes_left(storage::Store& store, const std::string& execution);

// Finishes a blob. While the object store does not answer, it is sent again, until `stop` is requested.
// Blocks.
base::Result<storage::Staged> finish_blob(storage::BlobWriter& writer, const machines::CancelToken& stop);

// Copies the files of `end` into blobs, up to the limits of schemas/machines/artifact.h and the stored_bytes
// of the owners of `execution` (its id). Files that a limit or a full disk excludes are left out and listed
// in the note. Waits for an object store as `finish_blob` does, unless the command was stopped. Returns early
// when `stop` requests a kill. Blocks on the disk.
StagedArtifacts stage_artifacts(storage::Store& store, const std::string& execution,
                                machines::CommandResult& end, const machines::CancelToken& stop);

struct PreparedCommand {
  machines::CommandRequest request;
  std::string output_file = {};  // the name of the artifact that its stdout becomes; empty: stdout is events
};

// Builds the command of a job of kind exec from its spec, its input, its decrypted environment and its
// machine's row. Blocks on the store. kMachineNotFound, kHostAgentFailed: the job can never run here.
// kOverloaded: retry.
base::Result<PreparedCommand> prepared_command(storage::Store& store, const storage::ClaimedJob& job,
                                               const std::string& secret_key);

}  // namespace millrace::workers
