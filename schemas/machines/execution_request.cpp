#include <array>

#include "platform/base/base64.h"
#include "schemas/admin_request.h"
#include "schemas/jobs/job_metadata.h"
#include "schemas/json/json.h"
#include "schemas/machines/execution.h"

namespace millrace::schemas {
namespace {

constexpr std::int64_t kCwdMax = 4095;  // PATH_MAX without the terminating NUL

// The struct that the table fills.
struct ExecutionRequestDraft {
  std::vector<std::string> command;
  Environment environment;
  std::string cwd, metadata;
  std::optional<std::string> input = {};
  std::int64_t timeout_ms = kTimeoutDefault.count();
  bool retry_on_worker_loss = false;
  std::optional<JobStart> start;
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
  if (input) return reader.problem("Only one of `stdin` and `stdin_base64` may be given", "value_error");
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
    run_at_field<ExecutionRequestDraft, &ExecutionRequestDraft::start>(),
    delay_field<ExecutionRequestDraft, &ExecutionRequestDraft::start>(),
};
static_assert(kTimeoutDefault.count() == 600'000 && kEnvNamesMax == 256 && kCommandItemsMax == 1024 &&
                  kCommandBytesMax == 131'072 && kEnvBytesMax == 131'072 && kStdinBytesMax == 8'388'608,
              "the texts above name these");

ExecutionRequest request_of(ExecutionRequestDraft draft) {
  ExecutionRequest out;
  out.spec.command = std::move(draft.command);
  out.spec.cwd = std::move(draft.cwd);
  for (const auto& [name, value] : draft.environment) out.spec.env_names.push_back(name);
  out.input = std::move(draft.input).value_or("");
  out.spec.timeout = std::chrono::milliseconds(draft.timeout_ms);
  out.environment = std::move(draft.environment);
  out.retry_on_worker_loss = draft.retry_on_worker_loss;
  out.metadata = std::move(draft.metadata);
  out.start = draft.start;
  return out;
}

}  // namespace

std::span<const Field> execution_request_fields() { return kExecutionTable; }

tl::expected<ExecutionRequest, Refusal> parse_execution_request(std::string& body) {
  auto draft = read_body<ExecutionRequestDraft>(body, kExecutionTable);
  if (!draft) return tl::make_unexpected(std::move(draft.error()));
  return request_of(*std::move(draft));
}

}  // namespace millrace::schemas
