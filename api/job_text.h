#pragma once
#include <string>
#include <string_view>

#include "schemas/job.h"

// How jobs look to clients (contract.md §6).
namespace millrace::api {

// `public_url`: what links begin with; empty: they are relative.
std::string job_json(const schemas::JobView& job, std::string_view public_url);
// {version, at, type, data}, on one line.
std::string event_json(const schemas::JobEvent& event);
std::string job_url(const schemas::JobId& job, std::string_view public_url);

}  // namespace millrace::api
