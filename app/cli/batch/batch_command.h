#pragma once
#include <string>
#include <vector>

#include "app/cli/client.h"
#include "app/cli/job_start.h"

namespace millrace::cli {

class BatchWork;

struct BatchArguments {
  std::vector<std::string> inputs;  // files and folders
  std::string output_folder;        // empty: the text on stdout
  int in_flight = 16;               // documents submitted and not yet done
  JobStartFlags start;              // of each document's job
};

// Submits files as jobs, follows the jobs and writes their results. Progress goes to stderr, data to stdout.
// The first Ctrl-C detaches: the jobs go on, and the command prints how to resume. The second Ctrl-C cancels
// them. Another run with the same output folder resumes and skips what is done. Exit code: 0 all done, 1 some
// failed, 130 interrupted, else as ExitCode. Entries of a folder that cannot be read are reported, skipped,
// and count as failed.
int run_batch(const BatchArguments& request, const BatchWork& work, const ClientOptions& options);

}  // namespace millrace::cli
