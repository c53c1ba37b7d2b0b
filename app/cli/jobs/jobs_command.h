#pragma once
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "app/cli/client.h"

namespace millrace::cli {

// waiting_text of a queued job, by the last of its events, which it asks for: the pages of a history up to a
// bound. Empty for a job that is not queued.
std::string why_it_waits(Client& client, const nlohmann::json& job);

struct JobsListRequest {
  std::string kind, status, model, created_after, created_before, text;  // empty: any
  int limit = 50;
};

struct JobResultRequest {
  std::string job;
  std::string output;  // a file; empty or "-": standard output
  std::string format;  // of a transcript: instead of the form that it was asked for in
  std::string pages;   // "0-5,7": these of what is there; empty: all
  bool partial = false;
};

// `millrace jobs …`. Each prints a table, or JSON with --json, and returns an ExitCode.
int jobs_ls(const JobsListRequest& request, ClientOptions options);
int jobs_show(const std::string& job, ClientOptions options);
// Events as they come, until the job ends; the exit code is 0 if it succeeded. Rides out a lost connection.
int jobs_tail(const std::string& job, ClientOptions options);
// The job's own result as the API answers it, or what there is of it so far. kNotYet: the job goes on, and
// nothing has been written; a job that did not succeed: its error, as a refusal of the gateway.
int jobs_result(const JobResultRequest& request, ClientOptions options);
int jobs_cancel(const std::vector<std::string>& jobs, ClientOptions options);
int jobs_retry(const std::vector<std::string>& jobs, ClientOptions options);

}  // namespace millrace::cli
