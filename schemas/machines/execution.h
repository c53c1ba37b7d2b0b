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

// Command executions (docs/design/http-contract.md §1).
namespace millrace::schemas {

// Limits of docs/design/http-contract.md §1; every error that refuses by one names it.
inline constexpr std::size_t kCommandItemsMax = 1024;
inline constexpr std::size_t kCommandBytesMax = 128 * 1024;
inline constexpr std::size_t kEnvNamesMax = 256;
inline constexpr std::size_t kEnvBytesMax = 128 * 1024;
inline constexpr std::size_t kStdinBytesMax = std::size_t{8} << 20;
inline constexpr std::int64_t kTimeoutMsMax = 86'400'000;
inline constexpr std::chrono::milliseconds kTimeoutDefault{600'000};

// What is kept of a request in the job's spec. The values of the environment are not in it: they are sealed
// (Submission::secret) and go when the job ends.
struct ExecutionSpec {
  base::Uuid machine;
  std::vector<std::string> command;  // execve: no shell; not empty
  std::string cwd;                   // empty: the machine's /workspace
  std::vector<std::string> env_names;
  std::chrono::milliseconds timeout = kTimeoutDefault;
  bool has_input = false;  // bytes for its stdin were handed in: known still when they are not kept any more
};
std::string to_json(const ExecutionSpec& spec);
base::Result<ExecutionSpec> execution_spec_from_json(std::string_view json);

// Names and values, in the order of the names. A secret: never logged, never in an event or an error. Its
// JSON is for base::seal: in base64, so that it is at most kEnvJsonMax whatever the bytes are.
inline constexpr std::size_t kEnvJsonMax = kEnvBytesMax / 3 * 4 + kEnvNamesMax * 16;
using Environment = std::vector<std::pair<std::string, std::string>>;
std::string to_json(const Environment& environment);
base::Result<Environment> environment_from_json(std::string_view json);

// POST …/executions, its shape checked. `spec.machine` is the caller's to fill (it is in the path), and
// `spec.has_input`.
struct ExecutionRequest {
  ExecutionSpec spec;
  Environment environment;
  std::string input;  // stdin: travels as the job's input, not in its spec
  bool retry_on_worker_loss = false;
};
// `body` as read_json wants it. Errors: kBadRequest (JSON), kInvalidField with its problems. Unknown fields
// are problems, too.
tl::expected<ExecutionRequest, Refusal> parse_execution_request(std::string& body);
// The table of the body: OpenAPI takes its schema from it.
std::span<const Field> execution_request_fields();

// How a command ended, as the job's result holds it: one of `exit_code` and `signal`, or neither when it was
// stopped or never ran.
struct ExecutionResult {
  std::optional<int> exit_code, signal;
  std::int64_t stdout_bytes = 0, stderr_bytes = 0;  // written, also past what was kept
  bool stdout_truncated = false, stderr_truncated = false;
};
std::string to_json(const ExecutionResult& result);
base::Result<ExecutionResult> execution_result_from_json(std::string_view json);

enum class OutputStream : std::uint8_t { kStdout, kStderr };
std::string_view name(OutputStream stream);  // "stdout", "stderr": also the type of the job's event

// True if they are UTF-8: then they travel as they are.
bool is_text(std::string_view bytes);
// The data of an output event: {"chunk": …, "encoding"?: "base64"}. Bytes that are not UTF-8 travel as
// base64.
std::string output_event_data(std::string_view bytes);
// The bytes again; kInternal: not such data.
base::Result<std::string> output_bytes(std::string_view event_data);

// The type of the event that tells a command's owner what its end does not, and its data: {"message": …}.
inline constexpr std::string_view kWarning = "warning";
std::string warning_event_data(std::string_view message);
std::string warning_message(std::string_view event_data);  // empty: not such data
// How many bytes of `bytes` are to wait for more: the beginning of a UTF-8 character at its end, 0 to 3.
std::size_t incomplete_tail(std::string_view bytes);

// What an end is shown as: the command's own end has one of `exit_code` and `signal` and no error; all else
// that is not a success or a cancel has an error of docs/design/http-contract.md §1 and neither of them.
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
