#pragma once
#include <string>

#include "app/cli/batches/batch_results.h"
#include "app/cli/client.h"

namespace millrace::cli {

struct BatchRunRequest {
  std::string input;  // a file of JSON lines; "-": standard input
  ResultPaths results;
  std::string endpoint;  // empty: `url` of the first request
  std::string window = "24h";
  std::string cost_max;  // in US dollars; empty: no limit of its own
};

// `millrace batch run`: uploads the requests, makes a batch, follows it and writes its results. The first
// Ctrl-C detaches: the batch goes on, and the command prints how to come back. A second one cancels it. What
// was begun is in a Journal beside the output, until the output is written: the same command finds its batch
// again, also after kill -9. Exit code: 0 every request succeeded, 1 some failed or were not sent, 13 the
// requests are not valid, 130 interrupted, else as ExitCode.
int batch_run(const BatchRunRequest& request, const ClientOptions& options);

}  // namespace millrace::cli
