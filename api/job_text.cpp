#include "api/job_text.h"

#include <array>

#include "schemas/json_text.h"

namespace millrace::api {
namespace {

using schemas::JsonObject;

// The five URLs differ in their ends alone.
std::string links(const std::string& self) {
  constexpr std::array<std::string_view, 4> kBelow{"result", "events", "cancel", "retry"};
  constexpr std::size_t kNamesAndMarks = 96;
  std::string open;  // `self` as a JSON string without its last quote
  schemas::append_json_string(open, self);
  open.pop_back();
  std::string out;
  out.reserve((kBelow.size() + 1) * open.size() + kNamesAndMarks);
  out.append(R"({"self":)").append(open);
  for (const std::string_view below : kBelow) {
    out.append(R"(",")").append(below).append(R"(":)").append(open).append("/").append(below);
  }
  return out.append(R"("})");
}

std::string error(const schemas::JobError& error) {
  return JsonObject().member("code", base::name(error.code)).member("message", error.message).finish();
}

}  // namespace

std::optional<schemas::JobId> shown_job_id(std::string_view text) {
  const auto id = schemas::JobId::parse(text);
  if (!id || id->kind == schemas::Kind::kMachine) return std::nullopt;
  return id;
}

std::string job_url(const schemas::JobId& job, std::string_view public_url) {
  return std::string(public_url) + "/v1/jobs/" + job.str();
}

std::string job_json(const schemas::JobView& job, std::string_view public_url, bool held) {
  constexpr std::size_t kUsualBytes = 1024;
  JsonObject out(kUsualBytes);
  out.member("id", job.id.str())
      .member("kind", schemas::name(job.id.kind))
      .member("status", schemas::public_name(job.status));
  if (held) out.flag("paused", true);
  out.member("created_at", base::rfc3339(job.created_at));
  if (job.started_at) out.member("started_at", base::rfc3339(*job.started_at));
  if (job.completed_at) out.member("completed_at", base::rfc3339(*job.completed_at));
  out.member("expires_at", base::rfc3339(job.result_expires_at.value_or(job.deadline)));
  out.number("attempt", job.attempt);
  if (job.progress_total > 0) {
    out.raw("progress",
            JsonObject().number("done", job.progress_done).number("total", job.progress_total).finish());
  }
  if (job.error) out.raw("error", error(*job.error));
  if (!job.model.empty()) out.member("model", job.model);
  if (job.retry_of) out.member("retry_of", job.retry_of->str());
  if (job.cancel_requested && !schemas::is_terminal(job.status)) out.flag("cancel_requested", true);
  out.raw("links", links(job_url(job.id, public_url)));
  return out.finish();
}

std::string job_json_with_tenant(const schemas::JobView& job, std::string_view public_url, bool held) {
  std::string text = job_json(job, public_url, held);
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
