#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "schemas/jobs/job.h"

// How jobs look to clients (docs/design/http-contract.md §6).
namespace millrace::api {

// The id of a job that clients see: the acts of machines are none. nullopt: it is not one.
std::optional<schemas::JobId> shown_job_id(std::string_view text);

// Why a queued job is not started, whatever its position (HeldJobs).
enum class Held : std::uint8_t {
  kNot,
  kPaused,    // an operator paused its kind
  kUnserved,  // no worker begins jobs of its kind at the moment
};

// `public_url`: what links begin with; empty: they are relative.
std::string job_json(const schemas::JobView& job, std::string_view public_url, Held held = Held::kNot);
// The same for a reply that names the job elsewhere, too.
struct JobNames {
  JobNames(const schemas::JobId& job, std::string_view public_url);
  std::string id, url;
};
std::string job_json(const schemas::JobView& job, const JobNames& names, Held held = Held::kNot);
// The same with `tenant`, for administrators.
std::string job_json_with_tenant(const schemas::JobView& job, std::string_view public_url,
                                 Held held = Held::kNot);
// {version, at, type, data}, on one line.
std::string event_json(const schemas::JobEvent& event);
std::string job_url(const schemas::JobId& job, std::string_view public_url);

}  // namespace millrace::api
