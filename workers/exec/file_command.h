#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "machines/driver.h"
#include "platform/base/result.h"
#include "schemas/machines/machine_file.h"
#include "storage/blobs/blobs.h"
#include "storage/jobs/job_outcomes.h"
#include "storage/store.h"

// Copying files into machines and out of them. The work is done on the machine, by its own user and within
// its limits and its disk, so it is the same for every driver.
namespace millrace::workers {

// The command that does it in the machine's folder, with a POSIX shell and its usual programs. `path`: from
// schemas::machine_file_path. `bytes`: of a put, the size of its stdin. `attempt`: from 1; the command may
// run again after a lost worker. Ends with 0 or a schemas::FileExit.
//
// No part of the path leads out of the folder through a symbolic link. A put writes a temporary file beside
// the file and then renames it, so a reader sees the old file or the new one; missing folders are made; a
// symbolic link is replaced. A file that is replaced keeps its mode (of a link: its target's); a new one gets
// that of the user's umask. Its temporary file, which only the user may read, has the name of the execution
// and of the attempt: a later attempt removes it. A get writes the file to stdout. A delete removes a link,
// not its target; in a later attempt it also succeeds if the file is gone.
std::vector<std::string> file_command(schemas::FileAction action, const std::string& path, std::int64_t bytes,
                                      int attempt);

// A file that arrives in pieces, as the stdout of a command, and becomes an artifact. Blocks on the disk. One
// thread at a time.
class ReceivedFile {
 public:
  // `bytes_left`: of the stored_bytes of its owners.
  ReceivedFile(storage::Store& store, std::int64_t bytes_left) : store_(store), bytes_left_(bytes_left) {}
  // False: it cannot be stored; `finish` returns the error. kTooLarge: above kMachineFileBytesMax.
  // kQuotaFull: above `bytes_left`.
  bool add(std::string_view bytes);
  bool good() const { return !problem_; }
  // `name`: of the artifact. Waits for an object store as `finish_blob` does.
  base::Result<storage::JobOutcomes::NewArtifact> finish(std::string name, const machines::CancelToken& stop);

 private:
  base::Status append(std::string_view bytes);

  storage::Store& store_;
  const std::int64_t bytes_left_;
  std::unique_ptr<storage::BlobWriter> writer_;
  std::optional<base::Error> problem_;
};

}  // namespace millrace::workers
