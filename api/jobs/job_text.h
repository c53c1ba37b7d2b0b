#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "schemas/jobs/job.h"

// Jobs as JSON for clients (docs/design/http-contract.md §6).
namespace millrace::api {

// Parses the id of a job that clients may see. nullopt: not a job id, or a machine operation, which is not
// shown.
std::optional<schemas::JobId> shown_job_id(std::string_view text);

// Why a queued job is not started, whatever its position (BlockedJobs).
enum class BlockReason : std::uint8_t {
  kNot,
  kPaused,    // an operator paused its kind
  kUnserved,  // no live worker serves its kind
};

// `public_url`: base of links; empty: relative links.
std::string job_json(const schemas::JobView& job, std::string_view public_url,
                     BlockReason block_reason = BlockReason::kNot);
// The same for a reply that also contains the job's id or URL elsewhere.
struct JobNames {
  JobNames(const schemas::JobId& job, std::string_view public_url);
  std::string id, url;
};
std::string job_json(const schemas::JobView& job, const JobNames& names,
                     BlockReason block_reason = BlockReason::kNot);
// The same with `tenant`, for administrators.
std::string job_json_with_tenant(const schemas::JobView& job, std::string_view public_url,
                                 BlockReason block_reason = BlockReason::kNot);
// {version, at, type, data}, on one line.
std::string event_json(const schemas::JobEvent& event);
std::string job_url(const schemas::JobId& job, std::string_view public_url);

}  // namespace millrace::api
