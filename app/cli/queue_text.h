#pragma once
#include <string>

#include <nlohmann/json_fwd.hpp>

// Queues, workers and groups of dead jobs as a person reads them: one line each, without its end, and the one
// above them.
namespace millrace::cli {

std::string queue_header();
std::string queue_row(const nlohmann::json& queue);

std::string worker_header();
std::string worker_row(const nlohmann::json& worker);

std::string dead_header();
std::string dead_row(const nlohmann::json& group);

}  // namespace millrace::cli
