#pragma once
#include <string>
#include <vector>

#include "app/cli/client.h"

namespace millrace::cli {

class BatchWork;

struct BatchRequest {
  std::vector<std::string> inputs;  // files and folders
  std::string output_folder;        // empty: the text on stdout
  int in_flight = 16;               // documents handed in and not yet done
};

// Hands files in as jobs, follows them, writes what they make. Progress on stderr, data on stdout. Ctrl-C
// once detaches (the jobs go on) and prints how to resume, twice cancels them. Run again with the same output
// folder it resumes and skips what is done. Exit code: 0 all done, 1 some failed, 130 interrupted, else as
// ExitCode. What cannot be read of a folder is named, skipped, and counts as failed.
int run_batch(const BatchRequest& request, const BatchWork& work, const ClientOptions& options);

}  // namespace millrace::cli
