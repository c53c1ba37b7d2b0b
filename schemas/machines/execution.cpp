#include "schemas/machines/execution.h"

#include <algorithm>
#include <array>

#include <simdjson.h>

#include "platform/base/base64.h"
#include "schemas/admin_request.h"
#include "schemas/jobs/job_metadata.h"
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

bool is_spec(const Json& value) {
  return value.is_object() && value.contains("machine") && value["machine"].is_string() &&
         value.contains("command") && is_texts(value["command"]) && !value["command"].empty() &&
         value.contains("cwd") && value["cwd"].is_string() && value.contains("env_names") &&
         is_texts(value["env_names"]) && value.contains("timeout_ms") &&
         value["timeout_ms"].is_number_integer() &&
         (!value.contains("has_input") || value["has_input"].is_boolean());
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

namespace {

constexpr std::int64_t kCwdMax = 4095;  // PATH_MAX without the terminating NUL

// The struct that the table fills.
struct ExecutionRequestDraft {
  std::vector<std::string> command;
  Environment environment;
  std::string cwd, input, metadata;
  std::int64_t timeout_ms = kTimeoutDefault.count();
  bool retry_on_worker_loss = false;
};
template <auto Member>
constexpr auto into_execution = &store_in<ExecutionRequestDraft, Member>;

bool has_nul(std::string_view text) { return text.find('\0') != std::string_view::npos; }

std::string bound(std::string_view name, std::size_t value) { return dump(Json{{name, value}}); }

// Reads one argument; a problem names its index.
bool read_argument(FieldReader& reader, const Json& value, std::size_t place, std::string& out) {
  const std::string where = "Item " + std::to_string(place);
  const auto text = reader.text(value);
  if (!text) {
    reader.problem(where + " should be a valid string", "string_type", &value);
  } else if (has_nul(*text)) {
    reader.problem(where + " should have no NUL character", "value_error");
  } else if (place == 0 && text->empty()) {
    reader.problem("Item 0 should name a program", "string_too_short", &value);
  } else {
    out = *text;
    return true;
  }
  return false;
}

void read_command(void* object, FieldReader& reader, const Json& value) {
  auto& command = static_cast<ExecutionRequestDraft*>(object)->command;
  if (!value.is_array()) return reader.problem("Input should be a list of strings", "list_type", &value);
  if (value.empty())
    return reader.problem("List should have at least 1 item", "too_short", nullptr, bound("min_length", 1));
  if (value.size() > kCommandItemsMax)
    return reader.problem("List should have at most 1024 items", "too_long", nullptr,
                          bound("max_length", kCommandItemsMax));
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (!read_argument(reader, value[i], i, command.emplace_back())) return;
    bytes += command.back().size() + 1;
  }
  if (bytes > kCommandBytesMax)
    reader.problem("The items should have at most 131072 bytes (128 KiB) in all; each counts one byte more",
                   "too_long", nullptr, bound("max_bytes", kCommandBytesMax));
}

// Problems never echo a value; they may echo a name.
bool check_variable(FieldReader& reader, std::string_view name, const Json& value) {
  if (name.empty()) {
    reader.problem("A variable's name should not be empty", "value_error");
  } else if (name.find('=') != std::string_view::npos) {
    reader.problem("A variable's name should have no '='", "value_error");
  } else if (has_nul(name)) {
    reader.problem("A variable's name should have no NUL character", "value_error");
  } else if (const auto text = reader.text(value); !text) {
    reader.problem("A variable's value should be a valid string", "string_type");
  } else if (has_nul(*text)) {
    reader.problem("A variable's value should have no NUL character", "value_error");
  } else {
    return true;
  }
  return false;
}

void read_environment(void* object, FieldReader& reader, const Json& value) {
  auto& environment = static_cast<ExecutionRequestDraft*>(object)->environment;
  if (!value.is_object()) return reader.problem("Input should be an object of strings", "dict_type");
  if (value.size() > kEnvNamesMax)
    return reader.problem("Object should have at most 256 variables", "too_long", nullptr,
                          bound("max_length", kEnvNamesMax));
  std::size_t bytes = 0;
  for (const auto& [name, text] : value.items()) {
    if (!check_variable(reader, name, text)) return;
    environment.emplace_back(name, *reader.text(text));
    bytes += name.size() + environment.back().second.size() + 2;
  }
  if (bytes > kEnvBytesMax)
    reader.problem(
        "The variables should have at most 131072 bytes (128 KiB) in all; each counts two bytes more",
        "too_long", nullptr, bound("max_bytes", kEnvBytesMax));
}

void read_cwd(void* object, FieldReader& reader, const Json& value) {
  const auto text = reader.text(value);
  if (!text) return reader.problem("Input should be a valid string", "string_type", &value);
  if (has_nul(*text)) return reader.problem("String should have no NUL character", "value_error");
  if (text->size() > std::size_t{kCwdMax})
    return reader.problem("String should have at most 4095 bytes", "string_too_long", nullptr,
                          bound("max_length", kCwdMax));
  static_cast<ExecutionRequestDraft*>(object)->cwd = *text;
}

// Its table row follows that of `stdin`.
void read_encoded_input(void* object, FieldReader& reader, const Json& value) {
  auto& input = static_cast<ExecutionRequestDraft*>(object)->input;
  const auto text = reader.text(value);
  if (!text) return reader.problem("Input should be a valid string", "string_type");
  if (!input.empty())
    return reader.problem("Only one of `stdin` and `stdin_base64` may be given", "value_error");
  auto bytes = base::base64_decode(*text);
  if (!bytes) return reader.problem("String should be base64", "value_error");
  if (bytes->size() > kStdinBytesMax)
    return reader.problem("The decoded bytes should be at most 8388608 (8 MiB)", "too_long", nullptr,
                          bound("max_bytes", kStdinBytesMax));
  input = *std::move(bytes);
}

constexpr std::array kExecutionTable{
    Field{.name = "command",
          .type = FieldType::kCustom,
          .required = true,
          .text = "The program and its arguments, passed to execve without a shell. At most 1024 items and "
                  "128 KiB in all",
          .schema = R"({"type":"array","minItems":1,"maxItems":1024,"items":{"type":"string"}})",
          .custom = &read_command},
    Field{.name = "cwd",
          .type = FieldType::kCustom,
          .text = "The working directory; a relative one is below the machine's /workspace, which is the "
                  "default",
          .schema = R"({"type":"string","maxLength":4095})",
          .custom = &read_cwd},
    Field{.name = "env",
          .type = FieldType::kCustom,
          .text = "Environment variables: at most 256 names and 128 KiB in all. Their values are stored "
                  "encrypted until the command ends, and never returned",
          .schema = R"({"type":"object","maxProperties":256,"additionalProperties":{"type":"string"}})",
          .custom = &read_environment},
    Field{.name = "stdin",
          .text = "The command's standard input: at most 8 MiB",
          .max = std::int64_t{kStdinBytesMax},
          .store = into_execution<&ExecutionRequestDraft::input>},
    Field{.name = "stdin_base64",
          .type = FieldType::kCustom,
          .text = "The command's standard input as base64, for bytes that are not UTF-8: at most 8 MiB of "
                  "decoded bytes. Not together with `stdin`",
          .schema = R"({"type":"string","contentEncoding":"base64","maxLength":11184812})",
          .custom = &read_encoded_input},
    Field{
        .name = "timeout_ms",
        .type = FieldType::kInteger,
        .text = "After this time the command gets SIGTERM, 5 s later SIGKILL, and the execution is `expired`",
        .min = 1,
        .max = kTimeoutMsMax,
        .default_json = "600000",
        .store = into_execution<&ExecutionRequestDraft::timeout_ms>},
    Field{.name = "retry_on_worker_loss",
          .type = FieldType::kBool,
          .text = "Runs the command again if its worker is lost; it may then run more than once",
          .default_json = "false",
          .store = into_execution<&ExecutionRequestDraft::retry_on_worker_loss>},
    Field{.name = "metadata",
          .type = FieldType::kCustom,
          .text = "Texts by which you find the job: `GET /v1/jobs?metadata.KEY=VALUE`",
          .schema = kMetadataSchema,
          .custom = &read_metadata_into<ExecutionRequestDraft, &ExecutionRequestDraft::metadata>},
};
static_assert(kTimeoutDefault.count() == 600'000 && kEnvNamesMax == 256 && kCommandItemsMax == 1024 &&
                  kCommandBytesMax == 131'072 && kEnvBytesMax == 131'072 && kStdinBytesMax == 8'388'608,
              "the texts above name these");

ExecutionRequest request_of(ExecutionRequestDraft draft) {
  ExecutionRequest out;
  out.spec.command = std::move(draft.command);
  out.spec.cwd = std::move(draft.cwd);
  for (const auto& [name, value] : draft.environment) out.spec.env_names.push_back(name);
  out.input = std::move(draft.input);
  out.spec.timeout = std::chrono::milliseconds(draft.timeout_ms);
  out.environment = std::move(draft.environment);
  out.retry_on_worker_loss = draft.retry_on_worker_loss;
  out.metadata = std::move(draft.metadata);
  return out;
}

}  // namespace

std::span<const Field> execution_request_fields() { return kExecutionTable; }

tl::expected<ExecutionRequest, Refusal> parse_execution_request(std::string& body) {
  auto draft = read_body<ExecutionRequestDraft>(body, kExecutionTable);
  if (!draft) return tl::make_unexpected(std::move(draft.error()));
  return request_of(*std::move(draft));
}

namespace {

base::Error no_output() {
  return base::error(base::Code::kInternal, "the data of an output event in the store is damaged");
}

unsigned char byte_at(std::string_view bytes, std::size_t at) {
  return static_cast<unsigned char>(bytes[at]);
}

bool continues(unsigned char byte) { return (byte & 0xC0) == 0x80; }

// The length of the UTF-8 character that begins with `first`; 0: no character does.
std::size_t character_bytes(unsigned char first) {
  if (first >= 0xC2 && first <= 0xDF) return 2;
  if (first >= 0xE0 && first <= 0xEF) return 3;
  if (first >= 0xF0 && first <= 0xF4) return 4;
  return 0;
}

// True: the second byte is in its range, which excludes overlong forms, surrogates and values above U+10FFFF.
bool may_follow(unsigned char first, unsigned char second) {
  switch (first) {
    case 0xE0:
      return second >= 0xA0 && second <= 0xBF;
    case 0xED:
      return second >= 0x80 && second <= 0x9F;
    case 0xF0:
      return second >= 0x90 && second <= 0xBF;
    case 0xF4:
      return second >= 0x80 && second <= 0x8F;
    default:
      return continues(second);
  }
}

// True if `tail` is the beginning of an incomplete character.
bool is_begun(std::string_view tail) {
  if (character_bytes(byte_at(tail, 0)) <= tail.size()) return false;
  if (tail.size() > 1 && !may_follow(byte_at(tail, 0), byte_at(tail, 1))) return false;
  return tail.size() < 3 || continues(byte_at(tail, 2));
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

std::size_t incomplete_tail(std::string_view bytes) {
  constexpr std::size_t kTailMax = 3;
  for (std::size_t count = 1; count <= std::min(kTailMax, bytes.size()); ++count) {
    const std::string_view tail = bytes.substr(bytes.size() - count);
    if (continues(byte_at(tail, 0))) continue;
    return is_begun(tail) ? count : 0;
  }
  return 0;
}

}  // namespace millrace::schemas
