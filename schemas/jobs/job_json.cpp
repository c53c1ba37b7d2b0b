#include "schemas/jobs/job_json.h"

#include <array>
#include <span>

#include "schemas/json/json_text.h"

namespace millrace::schemas {
namespace {

// The URLs differ only in their ends. `retry` is last because not every kind has it.
void append_job_links(std::string& out, std::string_view self, Kind kind) {
  constexpr std::array<std::string_view, 4> kBelow{"result", "events", "cancel", "retry"};
  const std::size_t count = kBelow.size() - (can_be_retried(kind) ? 0 : 1);
  out.append(R"({"self":)");
  const std::size_t from = out.size();
  append_json_string(out, self);
  const std::size_t size = out.size() - from - 1;  // without its last quote
  for (const std::string_view below : std::span(kBelow).first(count)) {
    out.append(",\"").append(below).append("\":").append(out, from, size);
    out.append("/").append(below).append("\"");
  }
  out += '}';
}

void append_json_time(std::string& out, base::WallTime time) {
  out += '"';
  base::append_rfc3339(out, time);
  out += '"';
}

std::string job_error_json(const JobError& error) {
  JsonObject out;
  out.member("code", base::name(error.code)).member("message", error.message);
  if (!error.param.empty()) out.member("param", error.param);
  return out.finish();
}

}  // namespace

JobNames::JobNames(const JobId& job, std::string_view public_url) : id(job.str()) {
  constexpr std::string_view kJobs = "/v1/jobs/";
  url.reserve(public_url.size() + kJobs.size() + id.size());
  url.append(public_url).append(kJobs).append(id);
}

std::string job_json(const JobView& job, std::string_view public_url, BlockReason block_reason) {
  return job_json(job, JobNames(job.id, public_url), block_reason);
}

std::string job_json(const JobView& job, const JobNames& names, BlockReason block_reason) {
  constexpr std::size_t kUsualBytes = 1024;
  JsonObject out(kUsualBytes);
  out.member("id", names.id).member("kind", name(job.id.kind));
  if (!job.name.empty()) out.member("name", job.name);
  out.member("status", public_status(job));
  if (block_reason == BlockReason::kPaused) out.flag("paused", true);
  if (block_reason == BlockReason::kUnserved) out.flag("unserved", true);
  append_json_time(out.value("created_at"), job.created_at);
  if (job.run_at) append_json_time(out.value("run_at"), *job.run_at);
  if (job.started_at) append_json_time(out.value("started_at"), *job.started_at);
  if (job.completed_at) append_json_time(out.value("completed_at"), *job.completed_at);
  append_json_time(out.value("expires_at"), job.result_expires_at.value_or(job.deadline));
  out.number("attempt", job.attempt);
  if (job.progress_total > 0) {
    out.raw("progress",
            JsonObject().number("done", job.progress_done).number("total", job.progress_total).finish());
  }
  if (job.error) out.raw("error", job_error_json(*job.error));
  if (!job.model.empty()) out.member("model", job.model);
  if (!job.metadata.empty()) out.raw("metadata", job.metadata);
  if (job.retry_of) out.member("retry_of", job.retry_of->str());
  if (job.retried_by) out.member("retried_by", job.retried_by->str());
  if (job.cancel_requested && !is_terminal(job.status)) out.flag("cancel_requested", true);
  append_job_links(out.value("links"), names.url, job.id.kind);
  return out.finish();
}

}  // namespace millrace::schemas
