#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "schemas/jobs/job.h"
#include "schemas/jobs/job_json.h"

// Jobs as JSON for clients (docs/design/http-contract.md §6).
namespace millrace::api {

// Parses the id of a job that clients may see. nullopt: not a job id, or a machine operation, which is not
// shown.
std::optional<schemas::JobId> shown_job_id(std::string_view text);

using schemas::BlockReason;
using schemas::job_json;
using schemas::JobNames;
// The same with `tenant`, for administrators.
std::string job_json_with_tenant(const schemas::JobView& job, std::string_view public_url,
                                 BlockReason block_reason = BlockReason::kNot);
// {version, at, type, data}, on one line.
std::string event_json(const schemas::JobEvent& event);
std::string job_url(const schemas::JobId& job, std::string_view public_url);

}  // namespace millrace::api
