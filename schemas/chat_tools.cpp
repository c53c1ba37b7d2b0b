#include <array>

#include "schemas/chat_wanted.h"

// Readers of tools and of the choice among them; the old form becomes the present one.
namespace millrace::schemas {
namespace {

using nlohmann::json;

constexpr std::int64_t kToolNameMax = 128;

void add_name(void* object, FieldReader& reader, const json& value) {
  static_cast<std::vector<std::string>*>(object)->emplace_back(*reader.text(value));
}

constexpr std::array kDeclaredFunction{
    Field{.name = "name", .required = true, .min = 1, .max = kToolNameMax, .store = &add_name},
    Field{.name = "description"},
    Field{.name = "parameters", .type = FieldType::kAnyObject},
    Field{.name = "strict", .type = FieldType::kBool},
};
constexpr std::array kDeclaredCustom{
    Field{.name = "name", .required = true, .min = 1, .max = kToolNameMax, .store = &add_name},
    Field{.name = "description"},
    Field{.name = "format", .type = FieldType::kAnyObject},
};
constexpr std::array kNamed{
    Field{.name = "name", .required = true, .min = 1, .max = kToolNameMax, .store = &add_name}};

constexpr std::array<std::string_view, 2> kToolTypes{"function", "custom"};
constexpr std::array kTool{Field{.name = "type", .required = true, .choices = kToolTypes}};
constexpr std::array kFunctionTool{
    Field{.name = "function", .type = FieldType::kObject, .required = true, .members = kDeclaredFunction}};
constexpr std::array kCustomTool{
    Field{.name = "custom", .type = FieldType::kObject, .required = true, .members = kDeclaredCustom}};

constexpr std::array kFunctionChoice{
    Field{.name = "function", .type = FieldType::kObject, .required = true, .members = kNamed}};
constexpr std::array kCustomChoice{
    Field{.name = "custom", .type = FieldType::kObject, .required = true, .members = kNamed}};

void read_allowed(void* object, FieldReader& reader, const json& value);
constexpr std::array<std::string_view, 2> kModes{"auto", "required"};
constexpr std::array kAllowed{
    Field{.name = "mode", .required = true, .choices = kModes},
    Field{.name = "tools", .type = FieldType::kCustom, .required = true, .custom = &read_allowed},
};
constexpr std::array kAllowedChoice{
    Field{.name = "allowed_tools", .type = FieldType::kObject, .required = true, .members = kAllowed}};

constexpr std::array<std::string_view, 3> kChoiceTypes{"function", "custom", "allowed_tools"};
constexpr std::array kChoice{Field{.name = "type", .required = true, .choices = kChoiceTypes}};
constexpr std::array<std::string_view, 4> kChoiceWords{"none", "auto", "required", "any"};
constexpr std::array<std::string_view, 2> kOldWords{"none", "auto"};

std::string_view type_of(FieldReader& reader, const json& value) {
  const auto at = value.find("type");
  return at == value.end() ? std::string_view() : reader.text(*at).value_or("");
}

// By its type, which has been looked at.
void read_tool(FieldReader& reader, const json& value, std::vector<std::string>& names) {
  reader.read(kTool, value, &names);
  if (!value.is_object()) return;
  const std::string_view type = type_of(reader, value);
  if (type == "function") reader.read(kFunctionTool, value, &names);
  if (type == "custom") reader.read(kCustomTool, value, &names);
}

void read_allowed(void* object, FieldReader& reader, const json& value) {
  if (!reader.is_list(value, 1)) return;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const FieldReader::Inside item(reader, i);
    read_tool(reader, value[i], *static_cast<std::vector<std::string>*>(object));
  }
}

// {type: function, name} is how other endpoints say it.
bool is_flat(FieldReader& reader, const json& choice) {
  return type_of(reader, choice) == "function" && choice.contains("name") && !choice.contains("function");
}

json function_tool(json function) { return {{"type", "function"}, {"function", std::move(function)}}; }

}  // namespace

void read_chat_tools(void* object, FieldReader& reader, const json& value) {
  if (!reader.is_list(value)) return;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const FieldReader::Inside item(reader, i);
    read_tool(reader, value[i], chat_wanted(object).tools);
  }
}

void read_chat_functions(void* object, FieldReader& reader, const json& value) {
  if (!reader.is_list(value)) return;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const FieldReader::Inside item(reader, i);
    reader.read(kDeclaredFunction, value[i], &chat_wanted(object).functions);
  }
}

void read_tool_choice(void* object, FieldReader& reader, const json& value) {
  if (!value.is_object()) {
    reader.check(Field{.name = {}, .choices = kChoiceWords}, value);
    return;
  }
  auto& chosen = chat_wanted(object).chosen;
  if (is_flat(reader, value)) return reader.read(kNamed, value, &chosen);
  reader.read(kChoice, value, &chosen);
  const std::string_view type = type_of(reader, value);
  if (type == "function") reader.read(kFunctionChoice, value, &chosen);
  if (type == "custom") reader.read(kCustomChoice, value, &chosen);
  if (type == "allowed_tools") reader.read(kAllowedChoice, value, &chosen);
}

void read_function_call(void* object, FieldReader& reader, const json& value) {
  if (value.is_object()) return reader.read(kNamed, value, &chat_wanted(object).chosen_function);
  reader.check(Field{.name = {}, .choices = kOldWords}, value);
}

void form_tool_choice(json& body) {
  const auto choice = body.find("tool_choice");
  if (choice == body.end()) return;
  if (*choice == "any") *choice = "required";  // Mistral's word for it
  if (!choice->is_object()) return;
  if (choice->contains("function") || !choice->contains("name")) return;
  *choice = function_tool({{"name", std::move((*choice)["name"])}});
}

void form_functions(json& body, ChatRequest& out) {
  if (const auto functions = body.find("functions"); functions != body.end()) {
    if (body.contains("tools")) {
      out.dropped.push_back({.name = "functions"});
    } else {
      out.old_functions = true;
      json& tools = body["tools"] = json::array();
      for (json& each : *functions) tools.push_back(function_tool(std::move(each)));
    }
    body.erase("functions");
  }
  if (const auto call = body.find("function_call"); call != body.end()) {
    if (body.contains("tool_choice")) {
      out.dropped.push_back({.name = "function_call"});
    } else {
      out.old_functions = true;
      json choice = std::move(*call);
      body["tool_choice"] = choice.is_object() ? function_tool(std::move(choice)) : std::move(choice);
    }
    body.erase("function_call");
  }
}

}  // namespace millrace::schemas
