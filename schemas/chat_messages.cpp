#include <algorithm>
#include <array>

#include "schemas/chat_wanted.h"

// Reads the messages of a request.
namespace millrace::schemas {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 6> kRoles{"system",    "developer", "user",
                                                 "assistant", "tool",      "function"};

// What the table of a message fills, and what the messages before it have asked for in the old form.
struct Message {
  std::vector<std::string>& functions;
  std::vector<NamedUrl>& urls;
  std::string role;
  std::string name;
  bool has_content = false, has_call_id = false;
};

void store_role(void* object, FieldReader& reader, const json& value) {
  static_cast<Message*>(object)->role = *reader.text(value);
}
void store_name(void* object, FieldReader& reader, const json& value) {
  static_cast<Message*>(object)->name = *reader.text(value);
}
void store_call_id(void* object, FieldReader&, const json&) {
  static_cast<Message*>(object)->has_call_id = true;
}
void store_function(void* object, FieldReader& reader, const json& value) {
  static_cast<Message*>(object)->functions.emplace_back(*reader.text(value));
}
void read_message_content(void* object, FieldReader& reader, const json& value) {
  auto& message = *static_cast<Message*>(object);
  message.has_content = true;
  read_content(reader, value, content_of(message.role), message.urls);
}
void read_calls(void* object, FieldReader& reader, const json& value);

constexpr std::array kFunction{
    Field{.name = "name", .required = true, .min = 1},
    Field{.name = "arguments", .required = true},
};
constexpr std::array kCustom{
    Field{.name = "name", .required = true, .min = 1},
    Field{.name = "input", .required = true},
};
constexpr std::array<std::string_view, 2> kCallTypes{"function", "custom"};
constexpr std::array kCall{
    Field{.name = "id", .required = true, .min = 1},
    Field{.name = "type", .choices = kCallTypes},
};
constexpr std::array kFunctionCall{
    Field{.name = "function", .type = FieldType::kObject, .required = true, .members = kFunction}};
constexpr std::array kCustomCall{
    Field{.name = "custom", .type = FieldType::kObject, .required = true, .members = kCustom}};
constexpr std::array kOldCall{
    Field{.name = "name", .required = true, .min = 1, .store = &store_function},
    Field{.name = "arguments", .required = true},
};

// The role comes first: what the others may be depends on it.
constexpr std::array kMessage{
    Field{.name = "role", .required = true, .choices = kRoles, .store = &store_role},
    Field{.name = "content", .type = FieldType::kCustom, .custom = &read_message_content},
    Field{.name = "name", .store = &store_name},
    Field{.name = "tool_calls", .type = FieldType::kCustom, .custom = &read_calls},
    Field{.name = "tool_call_id", .min = 1, .store = &store_call_id},
    Field{.name = "function_call", .type = FieldType::kObject, .members = kOldCall},
    Field{.name = "refusal"},
    Field{.name = "audio", .type = FieldType::kAnyObject},
};

void read_calls(void* object, FieldReader& reader, const json& value) {
  if (static_cast<Message*>(object)->role != "assistant")
    return reader.problem("Only messages of role assistant have calls", "value_error");
  if (!reader.is_list(value)) return;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const FieldReader::Inside item(reader, i);
    reader.read(kCall, value[i], object);
    if (!value[i].is_object()) continue;
    const auto type = value[i].find("type");
    const bool custom = type != value[i].end() && reader.text(*type) == "custom";
    reader.read(custom ? std::span<const Field>(kCustomCall) : kFunctionCall, value[i], object);
  }
}

void missing(FieldReader& reader, std::string_view name) {
  const FieldReader::Inside member(reader, name);
  reader.problem("Field required", "missing");
}

void no_content(FieldReader& reader, const json& value) {
  if (!value.contains("content")) return missing(reader, "content");
  const FieldReader::Inside member(reader, "content");
  reader.problem("Input should be a string or a list of parts: null is for messages of an assistant",
                 "string_type", &value["content"]);
}

// What a role must have.
void check_role(FieldReader& reader, const Message& message, const json& value) {
  const std::string& role = message.role;
  const bool may_be_silent = role == "assistant" || role == "function";
  if (!may_be_silent && !message.has_content) no_content(reader, value);
  if (role == "tool" && !message.has_call_id) missing(reader, "tool_call_id");
  if (role != "function") return;
  if (message.name.empty()) return missing(reader, "name");
  const auto& asked = message.functions;
  if (std::find(asked.begin(), asked.end(), message.name) != asked.end()) return;
  const FieldReader::Inside member(reader, "name");
  reader.problem("No message before it has a function_call of this name", "value_error");
}

}  // namespace

void read_chat_messages(void* object, FieldReader& reader, const json& value) {
  auto& wanted = *static_cast<ChatWanted*>(object);
  if (const auto text = reader.text(value)) {
    wanted.has_messages = !text->empty();
    return;
  }
  if (!value.is_array())
    return reader.problem("Input should be a string or a list of messages", "list_type", &value);
  wanted.has_messages = !value.empty();
  std::vector<std::string> functions;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const FieldReader::Inside item(reader, i);
    Message message{.functions = functions, .urls = wanted.urls, .role = {}, .name = {}};
    const std::size_t before = reader.failures();
    reader.read(kMessage, value[i], &message);
    if (reader.failures() == before) check_role(reader, message, value[i]);
  }
}

}  // namespace millrace::schemas
