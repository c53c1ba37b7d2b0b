#pragma once
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "platform/base/clock.h"
#include "platform/base/ids.h"
#include "schemas/error_body.h"
#include "schemas/field.h"
#include "schemas/tenants/money.h"

// Batches: many requests in one file, in the shapes of OpenAI's /v1/batches and of Mistral's /v1/batch/jobs.
namespace millrace::schemas {

inline constexpr std::size_t kBatchErrorsMax = 100;     // listed of one input
inline constexpr std::size_t kBatchInlineMax = 10'000;  // requests in a body of /v1/batch/jobs
inline constexpr std::size_t kBatchCustomIdMax = 512;   // bytes
inline constexpr std::size_t kBatchEndpointMax = 256;   // bytes
inline constexpr std::chrono::hours kBatchWindowMax{24 * 7};
inline constexpr std::chrono::hours kBatchWindowDefault{24};
inline constexpr std::int64_t kBatchNanoUsdMax = 1'000'000'000'000'000;  // a million dollars

// What a batch does now. The numbers are those of batches.status.
enum class BatchStatus : std::uint8_t {
  kValidating = 0,
  kInProgress = 1,
  kFinalizing = 2,
  kCancelling = 3,
  kCompleted = 4,
  kFailed = 5,  // its input is not valid
  kExpired = 6,
  kCancelled = 7,
};
constexpr bool is_over(BatchStatus status) { return status >= BatchStatus::kCompleted; }
std::string_view name(BatchStatus status);          // of OpenAI: "in_progress"
std::string_view mistral_name(BatchStatus status);  // "RUNNING"

// Whose API made a batch: the form of its lines.
enum class BatchShape : std::uint8_t {
  kOpenAi = 0,   // {custom_id, method, url, body}
  kMistral = 1,  // {custom_id, body}
};

// What is wrong with a line of the input, or with all of it.
struct BatchError {
  std::string code, message;
  std::string param = {};                 // the member of the line
  std::optional<std::int64_t> line = {};  // from 1; absent: the input
};

struct BatchUsage {
  std::int64_t input_tokens = 0, cached_tokens = 0, output_tokens = 0, reasoning_tokens = 0;
  void add(const BatchUsage& more);
};

struct Batch {
  base::Uuid id;
  BatchShape shape = BatchShape::kOpenAi;
  BatchStatus status = BatchStatus::kValidating;
  std::string endpoint;                    // a path: "/v1/chat/completions"
  std::string model;                       // of every line (Mistral's shape); empty: each line names one
  std::optional<base::Uuid> input_file{};  // absent: the requests were sent inline
  std::string window = "24h";              // as the client wrote it
  std::string metadata{};                  // Metadata as JSON; empty: none
  std::vector<BatchError> errors{};
  std::int64_t total = 0, completed = 0, failed = 0;  // lines
  BatchUsage usage{};
  std::optional<NanoUsd> cost_max{};  // it submits no line beyond
  NanoUsd cost = 0;
  std::optional<std::chrono::seconds> output_life{};      // of its files
  std::optional<base::Uuid> output_file{}, error_file{};  // absent as long as they have no lines
  base::WallTime created_at{}, expires_at{};
  std::optional<base::WallTime> started_at{}, finalizing_at{}, cancelling_at{}, ended_at{};
};

// "batch_" and a lower-case UUID. Mistral's clients take the same id.
std::optional<base::Uuid> batch_id_from(std::string_view text);
std::string batch_id(const base::Uuid& id);

// The batch object of each API, as JSON text.
std::string batch_json(const Batch& batch);
std::string mistral_batch_json(const Batch& batch);
// By the shape in which it was made.
std::string own_batch_json(const Batch& batch);

std::string batch_errors_json(const std::vector<BatchError>& errors);  // a list, to be stored
std::vector<BatchError> batch_errors_from(std::string_view stored);

// A request for a new batch.
struct BatchRequest {
  BatchShape shape = BatchShape::kOpenAi;
  std::string endpoint;
  std::optional<base::Uuid> input_file{};
  std::string inline_lines{};  // as JSON lines; empty: the input is a file
  std::string model{};
  std::string window = "24h";
  std::chrono::milliseconds life{kBatchWindowDefault};
  std::string metadata{};
  std::optional<NanoUsd> cost_max{};
  std::optional<std::chrono::seconds> output_life{};
};
std::span<const Field> batch_fields();
std::span<const Field> mistral_batch_fields();
// `body`: see read_json. kInvalidField with its problems.
tl::expected<BatchRequest, Refusal> parse_batch_request(std::string& body);
tl::expected<BatchRequest, Refusal> parse_mistral_batch_request(std::string& body);
// A limit of costs in dollars, such as "1.50"; nullopt: it is not one.
std::optional<NanoUsd> batch_cost_max(std::string_view text);

// One request of a batch.
struct BatchLine {
  std::string custom_id;
  std::string body;  // a JSON object, as sent
};
// Reads a line of an input. `text` has simdjson's padding past its end. `number`: from 1, for the error. The
// codes: invalid_json, missing_required_parameter, invalid_value, mismatched_url, unsupported_parameter.
tl::expected<BatchLine, BatchError> parse_batch_line(std::string& text, BatchShape shape,
                                                     std::string_view endpoint, std::int64_t number);

// The request of a line, from its body: with the batch's model (empty: none) if it names none, and with
// `deferred` if it does not say it itself and `is_deferred` is set.
std::string batch_line_request(std::string body, std::string_view model, bool is_deferred);

// The reply to a line.
struct BatchReply {
  int status = 0;
  std::string request_id;
  std::string body;  // JSON
};
// A line of the output or of the error file, with its line feed. `error_code` and `message`: why the line was
// not executed; empty: it was.
std::string batch_output_line(const base::Uuid& batch, std::int64_t line, std::string_view custom_id,
                              const BatchReply& reply);
std::string batch_error_line(const base::Uuid& batch, std::int64_t line, std::string_view custom_id,
                             std::string_view error_code, std::string_view message);
// The tokens that the body of a reply reports, in any of the shapes of its `usage`.
BatchUsage usage_of_reply(std::string_view body);

}  // namespace millrace::schemas
