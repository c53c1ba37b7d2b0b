#include "api/jobs/job_text.h"

#include "schemas/json/json_text.h"

namespace millrace::api {
namespace {

using schemas::JsonObject;

}  // namespace

std::optional<schemas::JobId> shown_job_id(std::string_view text) {
  const auto id = schemas::JobId::parse(text);
  if (!id || id->kind == schemas::Kind::kMachine) return std::nullopt;
  return id;
}

std::string job_url(const schemas::JobId& job, std::string_view public_url) {
  return JobNames(job, public_url).url;
}

std::string job_json_with_tenant(const schemas::JobView& job, std::string_view public_url,
                                 BlockReason block_reason) {
  std::string text = job_json(job, public_url, block_reason);
  text.back() = ',';
  return text.append(std::string_view(JsonObject().member("tenant", job.tenant).finish()).substr(1));
}

std::string event_json(const schemas::JobEvent& event) {
  return JsonObject()
      .number("version", event.version)
      .member("at", base::rfc3339(event.at))
      .member("type", event.type)
      .raw("data", event.data.empty() ? "{}" : event.data)
      .finish();
}

}  // namespace millrace::api
