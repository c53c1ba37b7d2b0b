#pragma once
#include <string>
#include <vector>

#include "app/cli/client.h"

namespace millrace::cli {

struct OcrRequest {
  std::vector<std::string> inputs;  // files and folders
  std::string output_folder;        // empty: markdown on stdout
  std::string pages;                // "0-5,7"; empty: all
  std::string model;                // empty: the gateway's default
  bool images = false;              // pictures beside the markdown
  int in_flight = 16;               // documents handed in and not yet done
};

// `millrace ocr`: hands documents in as jobs, follows them, writes markdown. Progress on stderr, data on
// stdout. Ctrl-C once detaches (the jobs go on) and prints how to resume, twice cancels them. Run again with
// the same output folder it resumes and skips what is done. Exit code: 0 all done, 1 some failed, 130
// interrupted, else as ExitCode. A folder that cannot be read is named, skipped, and counts as failed.
int run_ocr(const OcrRequest& request, ClientOptions options);

}  // namespace millrace::cli
