#include <array>

#include "schemas/execution.h"
#include "schemas/read_body.h"

namespace millrace::schemas {
namespace {

using nlohmann::json;

constexpr std::int64_t kCwdMax = 4095;  // PATH_MAX without its end

// What the table fills.
struct ExecutionWanted {
  std::vector<std::string> command;
  Environment environment;
  std::string cwd, input;
  std::int64_t timeout_ms = kTimeoutDefault.count();
  bool retry_on_worker_loss = false;
};
template <auto Member>
constexpr auto into_execution = &store_in<ExecutionWanted, Member>;

bool has_nul(std::string_view text) { return text.find('\0') != std::string_view::npos; }

std::string bound(std::string_view name, std::size_t value) { return dump(json{{name, value}}); }

// One argument; the problem that it is, if it is one, names its place.
bool read_argument(FieldReader& reader, const json& value, std::size_t place, std::string& out) {
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

void read_command(void* object, FieldReader& reader, const json& value) {
  auto& command = static_cast<ExecutionWanted*>(object)->command;
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
    reader.problem("The items should have at most 131072 bytes (128 KiB) in all, one more counted for each",
                   "too_long", nullptr, bound("max_bytes", kCommandBytesMax));
}

// A value is never echoed; a name is, where it may be.
bool check_variable(FieldReader& reader, std::string_view name, const json& value) {
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

void read_environment(void* object, FieldReader& reader, const json& value) {
  auto& environment = static_cast<ExecutionWanted*>(object)->environment;
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
        "The variables should have at most 131072 bytes (128 KiB) in all, two more counted for each",
        "too_long", nullptr, bound("max_bytes", kEnvBytesMax));
}

void read_cwd(void* object, FieldReader& reader, const json& value) {
  const auto text = reader.text(value);
  if (!text) return reader.problem("Input should be a valid string", "string_type", &value);
  if (has_nul(*text)) return reader.problem("String should have no NUL character", "value_error");
  if (text->size() > std::size_t{kCwdMax})
    return reader.problem("String should have at most 4095 bytes", "string_too_long", nullptr,
                          bound("max_length", kCwdMax));
  static_cast<ExecutionWanted*>(object)->cwd = *text;
}

constexpr std::array kExecutionTable{
    Field{.name = "command",
          .type = FieldType::kCustom,
          .required = true,
          .text = "The program and its arguments, as execve takes them: no shell. At most 1024 items and "
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
          .text = "Environment variables: at most 256 names and 128 KiB in all. Their values are kept "
                  "encrypted while the command needs them, and shown nowhere",
          .schema = R"({"type":"object","maxProperties":256,"additionalProperties":{"type":"string"}})",
          .custom = &read_environment},
    Field{.name = "stdin",
          .text = "What the command reads as standard input, then its end: at most 8 MiB",
          .max = std::int64_t{kStdinBytesMax},
          .store = into_execution<&ExecutionWanted::input>},
    Field{.name = "timeout_ms",
          .type = FieldType::kInteger,
          .text = "After this the command gets SIGTERM, 5 s later SIGKILL, and is `expired`",
          .min = 1,
          .max = kTimeoutMsMax,
          .default_json = "600000",
          .store = into_execution<&ExecutionWanted::timeout_ms>},
    Field{.name = "retry_on_worker_loss",
          .type = FieldType::kBool,
          .text = "Run it again if its worker is lost: then it may run more than once",
          .default_json = "false",
          .store = into_execution<&ExecutionWanted::retry_on_worker_loss>},
};
static_assert(kTimeoutDefault.count() == 600'000 && kEnvNamesMax == 256 && kCommandItemsMax == 1024 &&
                  kCommandBytesMax == 131'072 && kEnvBytesMax == 131'072 && kStdinBytesMax == 8'388'608,
              "the texts above name these");

ExecutionRequest request_of(ExecutionWanted wanted) {
  ExecutionRequest out;
  out.spec.command = std::move(wanted.command);
  out.spec.cwd = std::move(wanted.cwd);
  for (const auto& [name, value] : wanted.environment) out.spec.env_names.push_back(name);
  out.input = std::move(wanted.input);
  out.spec.timeout = std::chrono::milliseconds(wanted.timeout_ms);
  out.environment = std::move(wanted.environment);
  out.retry_on_worker_loss = wanted.retry_on_worker_loss;
  return out;
}

}  // namespace

std::span<const Field> execution_request_fields() { return kExecutionTable; }

tl::expected<ExecutionRequest, Refusal> parse_execution_request(std::string& body) {
  auto wanted = read_body<ExecutionWanted>(body, kExecutionTable);
  if (!wanted) return tl::make_unexpected(std::move(wanted.error()));
  return request_of(*std::move(wanted));
}

}  // namespace millrace::schemas
