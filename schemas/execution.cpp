#include "schemas/execution.h"

#include <array>

#include <nlohmann/json.hpp>

#include "platform/base/base64.h"
#include "schemas/artifact.h"
#include "schemas/json_text.h"
#include "schemas/machine.h"
#include "schemas/ssh_session.h"

namespace millrace::schemas {
namespace {

using base::Code;
using nlohmann::json;

void append_list(std::string& out, std::span<const std::string> texts) {
  out += '[';
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (i > 0) out += ',';
    append_json_string(out, texts[i]);
  }
  out += ']';
}

std::string list(std::span<const std::string> texts) {
  std::string out;
  append_list(out, texts);
  return out;
}

base::Error broken(const char* what) {
  return base::error(Code::kInternal, std::string(what) + " is not what was written");
}

bool is_texts(const json& value) {
  if (!value.is_array()) return false;
  for (const json& each : value) {
    if (!each.is_string()) return false;
  }
  return true;
}

bool is_spec(const json& value) {
  return value.is_object() && value.contains("machine") && value["machine"].is_string() &&
         value.contains("command") && is_texts(value["command"]) && !value["command"].empty() &&
         value.contains("cwd") && value["cwd"].is_string() && value.contains("env_names") &&
         is_texts(value["env_names"]) && value.contains("timeout_ms") &&
         value["timeout_ms"].is_number_integer() &&
         (!value.contains("has_input") || value["has_input"].is_boolean());
}

bool is_result(const json& value) {
  if (!value.is_object()) return false;
  for (const char* bytes : {"stdout_bytes", "stderr_bytes"}) {
    if (!value.contains(bytes) || !value[bytes].is_number_integer()) return false;
  }
  for (const char* truncated : {"stdout_truncated", "stderr_truncated"}) {
    if (!value.contains(truncated) || !value[truncated].is_boolean()) return false;
  }
  for (const char* end : {"exit_code", "signal"}) {
    if (value.contains(end) && !value[end].is_number_integer()) return false;
  }
  return true;
}

std::optional<int> end_at(const json& value, const char* name) {
  if (!value.contains(name)) return std::nullopt;
  return value[name].get<int>();
}

void add_ending(JsonObject& out, const ExecutionEnding& ending) {
  if (ending.exit_code) out.number("exit_code", *ending.exit_code);
  if (ending.signal) out.number("signal", *ending.signal);
  if (!ending.error_code.empty()) out.member("error_code", ending.error_code);
  if (!ending.error_message.empty()) out.member("error_message", ending.error_message);
}

std::string artifact_list(const ArtifactNames& artifacts) {
  std::string out = "[";
  for (const auto& [id, file] : artifacts) {
    if (out.size() > 1) out += ',';
    out += JsonObject().member("artifact_id", artifact_id(id)).member("name", file).finish();
  }
  return out += ']';
}

void add_terminal(JsonObject& out, const JobView& job, const ExecutionResult& result) {
  if (job.result_expires_at) out.member("expires_at", base::rfc3339(*job.result_expires_at));
  add_ending(out, execution_ending(job.status, job.error, result));
  out.number("stdout_bytes", result.stdout_bytes)
      .flag("stdout_truncated", result.stdout_truncated)
      .number("stderr_bytes", result.stderr_bytes)
      .flag("stderr_truncated", result.stderr_truncated);
}

// The codes that contract.md §1 has for executions; what else can befall a job is the host's failure.
std::string_view error_code(Code code) {
  switch (code) {
    case Code::kExecutionTimedOut:
    case Code::kExecutionPrepareFailed:
    case Code::kMachineNotFound:
    case Code::kMachineNotRoutable:
    case Code::kMachineWakeFailed:
    case Code::kWorkerLost:
      return base::name(code);
    default:
      return base::name(Code::kHostAgentFailed);
  }
}

}  // namespace

std::string to_json(const ExecutionSpec& spec) {
  JsonObject out;
  out.member("machine", machine_id(spec.machine)).raw("command", list(spec.command));
  out.member("cwd", spec.cwd).raw("env_names", list(spec.env_names));
  out.number("timeout_ms", spec.timeout.count());
  if (spec.has_input) out.flag("has_input", true);
  return out.finish();
}

base::Result<ExecutionSpec> execution_spec_from_json(std::string_view text) {
  const json value = json::parse(text, nullptr, false);
  if (!is_spec(value)) return broken("the spec of an execution");
  const auto machine = machine_id_from(value["machine"].get_ref<const std::string&>());
  if (!machine) return broken("the machine of an execution");
  ExecutionSpec out;
  out.machine = *machine;
  value["command"].get_to(out.command);
  value["cwd"].get_to(out.cwd);
  value["env_names"].get_to(out.env_names);
  out.timeout = std::chrono::milliseconds(value["timeout_ms"].get<std::int64_t>());
  out.has_input = value.value("has_input", false);
  return out;
}

std::string to_json(const Environment& environment) {
  std::string out = "[";
  for (const auto& [variable, value] : environment) {
    if (out.size() > 1) out += ',';
    append_list(out, std::array{base::base64_encode(variable), base::base64_encode(value)});
  }
  return out += ']';
}

base::Result<Environment> environment_from_json(std::string_view text) {
  const json list = json::parse(text, nullptr, false);
  if (!list.is_array()) return broken("the environment of an execution");
  Environment out;
  for (const json& each : list) {
    if (!is_texts(each) || each.size() != 2) return broken("the environment of an execution");
    auto variable = base::base64_decode(each[0].get_ref<const std::string&>());
    auto content = base::base64_decode(each[1].get_ref<const std::string&>());
    if (!variable || !content) return broken("the environment of an execution");
    out.emplace_back(std::move(*variable), std::move(*content));
  }
  return out;
}

std::string to_json(const ExecutionResult& result) {
  JsonObject out;
  if (result.exit_code) out.number("exit_code", *result.exit_code);
  if (result.signal) out.number("signal", *result.signal);
  return out.number("stdout_bytes", result.stdout_bytes)
      .number("stderr_bytes", result.stderr_bytes)
      .flag("stdout_truncated", result.stdout_truncated)
      .flag("stderr_truncated", result.stderr_truncated)
      .finish();
}

base::Result<ExecutionResult> execution_result_from_json(std::string_view text) {
  const json value = json::parse(text, nullptr, false);
  if (!is_result(value)) return broken("the result of an execution");
  ExecutionResult out;
  out.exit_code = end_at(value, "exit_code");
  out.signal = end_at(value, "signal");
  value["stdout_bytes"].get_to(out.stdout_bytes);
  value["stderr_bytes"].get_to(out.stderr_bytes);
  value["stdout_truncated"].get_to(out.stdout_truncated);
  value["stderr_truncated"].get_to(out.stderr_truncated);
  return out;
}

ExecutionEnding execution_ending(JobStatus status, const std::optional<JobError>& error,
                                 const std::optional<ExecutionResult>& result) {
  ExecutionEnding out;
  const bool own_end = status == JobStatus::kSucceeded ||
                       (status == JobStatus::kFailed && error && error->code == Code::kCommandFailed);
  if (own_end && result) {
    out.exit_code = result->exit_code;
    out.signal = result->signal;
  }
  if (status == JobStatus::kFailed && !own_end) {
    out.error_code = error_code(error ? error->code : Code::kHostAgentFailed);
    out.error_message = error ? error->message : "The command could not be run";
  }
  if (status != JobStatus::kExpired) return out;
  const bool timed_out = error && error->code == Code::kExecutionTimedOut;
  out.error_code = timed_out ? base::name(Code::kExecutionTimedOut) : "execution_not_started";
  out.error_message = timed_out ? error->message : "The command did not start before its deadline";
  return out;
}

std::string execution_json(const JobView& job, const ExecutionSpec& spec,
                           const std::optional<ExecutionResult>& result, const ArtifactNames& artifacts) {
  JsonObject out;
  out.member("execution_id", job.id.str())
      .member("machine_id", machine_id(spec.machine))
      .member("status", public_status(job))
      .raw("command", list(spec.command))
      .member("created_at", base::rfc3339(job.created_at));
  if (!spec.cwd.empty()) out.member("cwd", spec.cwd);
  if (!spec.env_names.empty()) out.raw("env_keys", list(spec.env_names));
  if (job.started_at) out.member("started_at", base::rfc3339(*job.started_at));
  if (job.completed_at) out.member("completed_at", base::rfc3339(*job.completed_at));
  if (is_terminal(job.status) || !artifacts.empty()) out.raw("artifacts", artifact_list(artifacts));
  if (job.waking) out.number("retry_after_ms", kWakeRetryAfterMs);
  if (is_terminal(job.status)) add_terminal(out, job, result.value_or(ExecutionResult()));
  return out.raw("log_capture", "{}").finish();
}

}  // namespace millrace::schemas
