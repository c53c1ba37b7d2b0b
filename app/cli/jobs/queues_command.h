#pragma once
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "app/cli/client.h"

// Queues, workers and groups of dead jobs as a person reads them: one line each, without its end, and the one
// above them.
namespace millrace::cli {

std::string queue_header();
std::string queue_row(const nlohmann::json& queue);

std::string worker_header();
std::string worker_row(const nlohmann::json& worker);

std::string dead_header();
std::string dead_row(const nlohmann::json& group);

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
