#pragma once
#include <string>
#include <vector>

#include "app/cli/batches/batch_results.h"
#include "app/cli/client.h"

// `millrace batch ls|show|cancel|results`: batches of a running gateway. Each function returns an ExitCode.
namespace millrace::cli {

struct BatchResultsRequest {
  std::string batch;
  ResultPaths paths;
};

// Prints all batches, newest first, as a table, or with --json one object per line.
int batches_ls(ClientOptions options);
int batches_show(const std::string& batch, ClientOptions options);
// Cancels each; goes on after a failure and returns the last one.
int batches_cancel(const std::vector<std::string>& batches, ClientOptions options);
// Writes the results of a batch that has ended. kNotYet: it has not. kRefused: its input was not valid.
int batches_results(const BatchResultsRequest& request, ClientOptions options);

}  // namespace millrace::cli
