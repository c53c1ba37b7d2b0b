#pragma once
#include <string>
#include <vector>

#include "app/cli/client.h"

namespace millrace::cli {

struct JobsListRequest {
  std::string kind, status, model, created_after, created_before, text;  // empty: any
  int limit = 50;
};

// `millrace jobs …`. Each prints a table, or JSON with --json, and returns an ExitCode.
int jobs_ls(const JobsListRequest& request, ClientOptions options);
int jobs_show(const std::string& job, ClientOptions options);
// Events as they come, until the job ends; the exit code is 0 if it succeeded. Rides out a lost connection.
int jobs_tail(const std::string& job, ClientOptions options);
int jobs_cancel(const std::vector<std::string>& jobs, ClientOptions options);
int jobs_retry(const std::vector<std::string>& jobs, ClientOptions options);

}  // namespace millrace::cli
