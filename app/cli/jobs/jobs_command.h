#pragma once
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "app/cli/client.h"

namespace millrace::cli {

// waiting_text of a queued job. Requests the job's events, up to a maximum number of pages, to find the last
// one. Empty for a job that is not queued.
std::string waiting_reason(Client& client, const nlohmann::json& job);

struct JobsListRequest {
  std::string kind, status, model, created_after, created_before, text;  // empty: any
  std::vector<std::string> metadata;                                     // KEY=VALUE
  int limit = 50;
};

struct JobResultRequest {
  std::string job;
  std::string output;  // a file; empty or "-": standard output
  std::string format;  // of a transcript: overrides the format of the original request
  std::string pages;   // "0-5,7": only these of the available pages; empty: all
  bool partial = false;
};

// `millrace jobs …`. Each function prints a table, or JSON with --json, and returns an ExitCode.
int jobs_ls(const JobsListRequest& request, ClientOptions options);
int jobs_show(const std::string& job, ClientOptions options);
// Prints events as they arrive until the job ends. Exit code 0 if it succeeded. Reconnects if the connection
// is lost.
int jobs_tail(const std::string& job, ClientOptions options);
// Prints or writes the job's result as the API returns it, or with `partial` what exists so far. kNotYet: the
// job has not ended, and nothing was written. If the job did not succeed, its error is reported like an error
// response of the gateway.
int jobs_result(const JobResultRequest& request, ClientOptions options);
int jobs_cancel(const std::vector<std::string>& jobs, ClientOptions options);
int jobs_rm(const std::vector<std::string>& jobs, ClientOptions options);
int jobs_retry(const std::vector<std::string>& jobs, ClientOptions options);

}  // namespace millrace::cli
