#pragma once
#include <string>
#include <vector>

#include "app/cli/client.h"

namespace millrace::cli {

// `millrace queues …` and `millrace workers …`, for a key with scope admin: a table, or a line of JSON each
// with --json. Each returns an ExitCode.
int queues_ls(ClientOptions options);
// From now on no job of these kinds is begun; what runs goes on.
int queues_pause(const std::vector<std::string>& kinds, ClientOptions options);
int queues_resume(const std::vector<std::string>& kinds, ClientOptions options);

int workers_ls(ClientOptions options);
// They begin nothing new from their next heartbeat on, and end what they run.
int workers_drain(const std::vector<std::string>& names, ClientOptions options);

// `millrace jobs dead`: what failed, grouped by kind and error, the most first.
int jobs_dead(ClientOptions options);

}  // namespace millrace::cli
