#include <algorithm>
#include <array>

#include "schemas/chat_wanted.h"

// Reads `input`, and makes messages of it.
namespace millrace::schemas {
namespace {

using nlohmann::json;

struct Item {
  std::vector<NamedUrl>& urls;
  std::string role;
};
void store_item_role(void* object, FieldReader& reader, const json& value) {
  static_cast<Item*>(object)->role = *reader.text(value);
}
void read_item_content(void* object, FieldReader& reader, const json& value) {
  auto& item = *static_cast<Item*>(object);
  read_content(reader, value, content_of(item.role), item.urls);
}
void read_output(void* object, FieldReader& reader, const json& value) {
  read_content(reader, value, ContentOf::kTool, static_cast<Item*>(object)->urls);
}

constexpr std::array<std::string_view, 4> kInputRoles{"system", "developer", "user", "assistant"};
constexpr std::array kInputMessage{
    Field{.name = "role", .required = true, .choices = kInputRoles, .store = &store_item_role},
    Field{.name = "content", .type = FieldType::kCustom, .required = true, .custom = &read_item_content},
};
constexpr std::array kInputCall{
    Field{.name = "call_id", .required = true, .min = 1},
    Field{.name = "name", .required = true, .min = 1},
    Field{.name = "arguments", .required = true},
};
constexpr std::array kOutput{
    Field{.name = "call_id", .required = true, .min = 1},
    Field{.name = "output", .type = FieldType::kCustom, .required = true, .custom = &read_output},
};
constexpr std::array<std::string_view, 4> kTypes{"message", "function_call", "function_call_output",
                                                 "reasoning"};
constexpr std::array kItem{Field{.name = "type", .choices = kTypes}};

void read_item(FieldReader& reader, const json& value, std::vector<NamedUrl>& urls) {
  const std::size_t before = reader.failures();
  reader.read(kItem, value, nullptr);
  if (reader.failures() != before) return;
  const auto at = value.find("type");
  const std::string_view type = at == value.end() ? "" : reader.text(*at).value_or("");
  Item item{.urls = urls, .role = {}};
  if (type == "function_call") {
    reader.read(kInputCall, value, &item);
  } else if (type == "function_call_output") {
    reader.read(kOutput, value, &item);
  } else if (type != "reasoning") {
    reader.read(kInputMessage, value, &item);
  }
}

// Calls in a row are one message's, and belong to the text before them.
void add_call(json& messages, const json& item) {
  if (messages.empty() || messages.back()["role"] != "assistant") messages.push_back({{"role", "assistant"}});
  messages.back()["tool_calls"].push_back(
      {{"id", item["call_id"]},
       {"type", "function"},
       {"function", {{"name", item["name"]}, {"arguments", item["arguments"]}}}});
}

std::string type_of(const json& item) {
  const auto type = item.find("type");
  return type == item.end() || !type->is_string() ? "message" : type->get<std::string>();
}

}  // namespace

void read_chat_input(void* object, FieldReader& reader, const json& value) {
  auto& wanted = *static_cast<ChatWanted*>(object);
  if (const auto text = reader.text(value)) {
    wanted.has_input = !text->empty();
    return;
  }
  if (!value.is_array())
    return reader.problem("Input should be a string or a list of items", "list_type", &value);
  wanted.has_input = !value.empty();
  for (std::size_t i = 0; i < value.size(); ++i) {
    const FieldReader::Inside item(reader, i);
    read_item(reader, value[i], wanted.urls);
  }
}

json messages_of_input(json input, DroppedParams& dropped) {
  json messages = json::array();
  for (json& item : input) {
    const std::string type = type_of(item);
    if (type == "function_call") {
      add_call(messages, item);
    } else if (type == "function_call_output") {
      messages.push_back({{"role", "tool"},
                          {"tool_call_id", std::move(item["call_id"])},
                          {"content", std::move(item["output"])}});
    } else if (type == "reasoning") {
      dropped.push_back({.name = "input.reasoning"});
    } else {
      messages.push_back({{"role", std::move(item["role"])}, {"content", std::move(item["content"])}});
    }
  }
  return messages;
}

}  // namespace millrace::schemas
