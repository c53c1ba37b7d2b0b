#pragma once
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "app/cli/client.h"

// Queues, workers and groups of dead jobs as rows of a table, each with its header row, without a newline.
namespace millrace::cli {

std::string queue_header();
std::string queue_row(const nlohmann::json& queue);

std::string worker_header();
std::string worker_row(const nlohmann::json& worker);

std::string dead_header();
std::string dead_row(const nlohmann::json& group);

// `millrace queues …` and `millrace workers …`; they need a key with scope admin. They print a table, or with
// --json one JSON object per line. Each function returns an ExitCode.
int queues_ls(ClientOptions options);
// Pauses queues: no further job of these kinds starts; running jobs go on.
int queues_pause(const std::vector<std::string>& kinds, ClientOptions options);
int queues_resume(const std::vector<std::string>& kinds, ClientOptions options);

int workers_ls(ClientOptions options);
// Drains workers: from their next heartbeat on they claim no further jobs and finish the running ones.
int workers_drain(const std::vector<std::string>& names, ClientOptions options);

// `millrace jobs dead`: failed jobs grouped by kind and error, largest group first.
int jobs_dead(ClientOptions options);

}  // namespace millrace::cli
