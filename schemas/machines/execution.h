#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "platform/base/ids.h"
#include "platform/base/result.h"
#include "schemas/error_body.h"
#include "schemas/field.h"
#include "schemas/jobs/job.h"
#include "schemas/jobs/job_start.h"
#include "schemas/machines/machine_file.h"

// Executions of commands (docs/design/http-contract.md §1).
namespace millrace::schemas {

// Limits of docs/design/http-contract.md §1; every error about a limit names it.
inline constexpr std::size_t kCommandItemsMax = 1024;
inline constexpr std::size_t kCommandBytesMax = 128 * 1024;
inline constexpr std::size_t kEnvNamesMax = 256;
inline constexpr std::size_t kEnvBytesMax = 128 * 1024;
inline constexpr std::size_t kStdinBytesMax = std::size_t{8} << 20;
inline constexpr std::int64_t kTimeoutMsMax = 86'400'000;
inline constexpr std::chrono::milliseconds kTimeoutDefault{600'000};

// The part of a request that is stored in the job's spec. The values of the environment are not in it: they
// are stored encrypted (Submission::secret) and deleted when the job ends.
struct ExecutionSpec {
  base::Uuid machine;
  std::vector<std::string> command;  // argv for execve, without a shell; not empty
  std::string cwd;                   // empty: the machine's /workspace
  std::vector<std::string> env_names;
  std::chrono::milliseconds timeout = kTimeoutDefault;
  bool has_input = false;  // the request had bytes for stdin; also true after they were deleted
  // A file is copied or deleted: `command` is {name(*file), path}, and the worker runs a command that does
  // it.
  std::optional<FileAction> file = {};
};
std::string to_json(const ExecutionSpec& spec);
base::Result<ExecutionSpec> execution_spec_from_json(std::string_view json);

// Names and values, sorted by name. It is secret: never logged, never in an event or an error. Its JSON is
// the input of base::seal. The values are base64 in it, so it has at most kEnvJsonMax bytes.
inline constexpr std::size_t kEnvJsonMax = kEnvBytesMax / 3 * 4 + kEnvNamesMax * 16;
using Environment = std::vector<std::pair<std::string, std::string>>;
std::string to_json(const Environment& environment);
base::Result<Environment> environment_from_json(std::string_view json);

// A validated POST …/executions. The caller sets `spec.machine` (it is in the path) and `spec.has_input`.
struct ExecutionRequest {
  ExecutionSpec spec;
  Environment environment;
  std::string input;  // stdin: stored as the job's input, not in its spec
  bool retry_on_worker_loss = false;
  std::string metadata;  // as JSON, for the job; empty: none
  std::optional<JobStart> start;
};
// `body`: see read_json. Errors: kBadRequest (JSON), kInvalidField with its problems. Unknown fields are
// problems too.
tl::expected<ExecutionRequest, Refusal> parse_execution_request(std::string& body);
// The table of the body; OpenAPI's schema is generated from it.
std::span<const Field> execution_request_fields();

// How a command ended, as stored in the job's result: either `exit_code` or `signal`; neither if the command
// was stopped or never ran.
struct ExecutionResult {
  std::optional<int> exit_code, signal;
  std::int64_t stdout_bytes = 0, stderr_bytes = 0;  // written, including bytes that were not kept
  bool stdout_truncated = false, stderr_truncated = false;
  bool output_open = false;  // a process still held the output open after exec.output_grace
};
std::string to_json(const ExecutionResult& result);
base::Result<ExecutionResult> execution_result_from_json(std::string_view json);

enum class OutputStream : std::uint8_t { kStdout, kStderr };
std::string_view name(OutputStream stream);  // "stdout", "stderr": also the type of the job's event

// True: `bytes` are UTF-8 and are stored unchanged.
bool is_text(std::string_view bytes);
// The data of an output event: {"chunk": …, "encoding"?: "base64"}. Bytes that are not UTF-8 are encoded as
// base64.
std::string output_event_data(std::string_view bytes);
// Decodes the bytes; kInternal: not the data of an output event.
base::Result<std::string> output_bytes(std::string_view event_data);

// The type of the event for information that the command's end does not contain; its data: {"message": …}.
inline constexpr std::string_view kWarning = "warning";
std::string warning_event_data(std::string_view message);
std::string warning_message(std::string_view event_data);  // empty: not such data

// A limit of the machine that a command ran into.
bool is_machine_limit(base::Code code);

// The end of an execution for the API. If the command ended, it has either `exit_code` or `signal`, and an
// error only if it ran into a limit of its machine. Every other end except success and cancel has an error of
// docs/design/http-contract.md §1 and neither of the two.
struct ExecutionEnding {
  std::optional<int> exit_code, signal;
  std::string error_code, error_message;
};
// REQUIRES: `status` is terminal.
ExecutionEnding execution_ending(JobStatus status, const std::optional<JobError>& error,
                                 const std::optional<ExecutionResult>& result);

// The Execution resource as JSON text. `result` is absent until the job has ended. `artifacts`: id and name
// of each.
using ArtifactNames = std::vector<std::pair<base::Uuid, std::string>>;
std::string execution_json(const JobView& job, const ExecutionSpec& spec,
                           const std::optional<ExecutionResult>& result, const ArtifactNames& artifacts);

}  // namespace millrace::schemas
