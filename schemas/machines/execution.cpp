#include "schemas/machines/execution.h"

#include <array>

#include <simdjson.h>

#include "platform/base/base64.h"
#include "schemas/json/json.h"
#include "schemas/json/json_text.h"
#include "schemas/machines/artifact.h"
#include "schemas/machines/machine.h"
#include "schemas/machines/ssh_session.h"

namespace millrace::schemas {
namespace {

using base::Code;
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
  return base::error(Code::kInternal, std::string(what) + " in the store is damaged");
}

bool is_texts(const Json& value) {
  if (!value.is_array()) return false;
  for (const Json& each : value) {
    if (!each.is_string()) return false;
  }
  return true;
}

std::optional<FileAction> file_action_of(const Json& value) {
  const auto found = value.find("file");
  if (found == value.end() || !found->is_string()) return std::nullopt;
  return file_action_from(found->get_ref<const std::string&>());
}

bool is_file_action(const Json& value) {
  return !value.contains("file") || (file_action_of(value) && value["command"].size() == 2);
}

bool is_spec(const Json& value) {
  return value.is_object() && value.contains("machine") && value["machine"].is_string() &&
         value.contains("command") && is_texts(value["command"]) && !value["command"].empty() &&
         value.contains("cwd") && value["cwd"].is_string() && value.contains("env_names") &&
         is_texts(value["env_names"]) && value.contains("timeout_ms") &&
         value["timeout_ms"].is_number_integer() &&
         (!value.contains("has_input") || value["has_input"].is_boolean()) && is_file_action(value);
}

bool is_result(const Json& value) {
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

std::optional<int> end_at(const Json& value, const char* name) {
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
  if (result.output_open) out.flag("output_open", true);
}

// The error codes of docs/design/http-contract.md §1 for executions; every other error counts as a failure of
// the host.
std::string_view error_code(Code code) {
  switch (code) {
    case Code::kOutOfMemory:
    case Code::kOutOfDisk:
    case Code::kProcessLimit:
    case Code::kCpuTimeExceeded:
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
  if (spec.file) out.member("file", name(*spec.file));
  return out.finish();
}

base::Result<ExecutionSpec> execution_spec_from_json(std::string_view text) {
  const Json value = Json::parse(text, nullptr, false);
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
  out.file = file_action_of(value);
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
  const Json list = Json::parse(text, nullptr, false);
  if (!list.is_array()) return broken("the environment of an execution");
  Environment out;
  for (const Json& each : list) {
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
  if (result.output_open) out.flag("output_open", true);
  return out.number("stdout_bytes", result.stdout_bytes)
      .number("stderr_bytes", result.stderr_bytes)
      .flag("stdout_truncated", result.stdout_truncated)
      .flag("stderr_truncated", result.stderr_truncated)
      .finish();
}

base::Result<ExecutionResult> execution_result_from_json(std::string_view text) {
  const Json value = Json::parse(text, nullptr, false);
  if (!is_result(value)) return broken("the result of an execution");
  ExecutionResult out;
  out.exit_code = end_at(value, "exit_code");
  out.signal = end_at(value, "signal");
  value["stdout_bytes"].get_to(out.stdout_bytes);
  value["stderr_bytes"].get_to(out.stderr_bytes);
  value["stdout_truncated"].get_to(out.stdout_truncated);
  value["stderr_truncated"].get_to(out.stderr_truncated);
  out.output_open = value.value("output_open", Json()).is_boolean() && value["output_open"].get<bool>();
  return out;
}

namespace {

// The command has ended by itself: its exit code or signal is known.
bool is_own_end(JobStatus status, const std::optional<JobError>& error) {
  if (status != JobStatus::kFailed) return status == JobStatus::kSucceeded;
  return error && (error->code == Code::kCommandFailed || is_machine_limit(error->code));
}

}  // namespace

bool is_machine_limit(Code code) {
  return code == Code::kOutOfMemory || code == Code::kOutOfDisk || code == Code::kProcessLimit ||
         code == Code::kCpuTimeExceeded;
}

ExecutionEnding execution_ending(JobStatus status, const std::optional<JobError>& error,
                                 const std::optional<ExecutionResult>& result) {
  ExecutionEnding out;
  if (is_own_end(status, error) && result) {
    out.exit_code = result->exit_code;
    out.signal = result->signal;
  }
  if (status == JobStatus::kFailed && !(error && error->code == Code::kCommandFailed)) {
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
      .member("status", public_status(job.status, job.waking))  // the specification knows no `scheduled`
      .raw("command", list(spec.command))
      .member("created_at", base::rfc3339(job.created_at));
  if (!spec.cwd.empty()) out.member("cwd", spec.cwd);
  if (!spec.env_names.empty()) out.raw("env_keys", list(spec.env_names));
  if (job.run_at) out.member("run_at", base::rfc3339(*job.run_at));
  if (job.started_at) out.member("started_at", base::rfc3339(*job.started_at));
  if (job.completed_at) out.member("completed_at", base::rfc3339(*job.completed_at));
  if (is_terminal(job.status) || !artifacts.empty()) out.raw("artifacts", artifact_list(artifacts));
  if (job.waking) out.number("retry_after_ms", kWakeRetryAfterMs);
  if (is_terminal(job.status)) add_terminal(out, job, result.value_or(ExecutionResult()));
  return out.raw("log_capture", "{}").finish();
}

namespace {

base::Error no_output() {
  return base::error(base::Code::kInternal, "the data of an output event in the store is damaged");
}

}  // namespace

std::string_view name(OutputStream stream) {
  switch (stream) {
    case OutputStream::kStdout:
      return "stdout";
    case OutputStream::kStderr:
      return "stderr";
  }
  return {};
}

bool is_text(std::string_view bytes) { return simdjson::validate_utf8(bytes.data(), bytes.size()); }

std::string output_event_data(std::string_view bytes) {
  constexpr std::size_t kAround = 64;
  JsonObject out(bytes.size() + bytes.size() / 2 + kAround);
  if (is_text(bytes)) return out.member("chunk", bytes).finish();
  return out.member("chunk", base::base64_encode(bytes)).member("encoding", "base64").finish();
}

base::Result<std::string> output_bytes(std::string_view event_data) {
  const auto data = Json::parse(event_data, nullptr, false);
  if (!data.is_object() || !data.contains("chunk") || !data["chunk"].is_string()) return no_output();
  const auto& chunk = data["chunk"].get_ref<const std::string&>();
  if (!data.contains("encoding")) return chunk;
  auto bytes = base::base64_decode(chunk);
  if (data["encoding"] != "base64" || !bytes) return no_output();
  return std::move(*bytes);
}

std::string warning_event_data(std::string_view message) {
  return JsonObject().member("message", message).finish();
}

std::string warning_message(std::string_view event_data) {
  const auto data = Json::parse(event_data, nullptr, false);
  const bool has_message = data.is_object() && data.contains("message") && data["message"].is_string();
  return has_message ? data["message"].get<std::string>() : std::string();
}

}  // namespace millrace::schemas
