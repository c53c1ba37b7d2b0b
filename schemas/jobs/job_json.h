#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "schemas/jobs/job.h"

// Jobs as JSON for clients (docs/design/http-contract.md §6).
namespace millrace::schemas {

// Why a queued job is not started, whatever its position (BlockedJobs).
enum class BlockReason : std::uint8_t {
  kNot,
  kPaused,    // an operator paused its kind
  kUnserved,  // no live worker serves its kind
};

// `public_url`: base of links; empty: relative links.
std::string job_json(const JobView& job, std::string_view public_url,
                     BlockReason block_reason = BlockReason::kNot);
// The same for a reply that also contains the job's id or URL elsewhere.
struct JobNames {
  JobNames(const JobId& job, std::string_view public_url);
  std::string id, url;
};
std::string job_json(const JobView& job, const JobNames& names, BlockReason block_reason = BlockReason::kNot);

}  // namespace millrace::schemas
