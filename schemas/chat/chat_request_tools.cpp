#include <algorithm>
#include <array>
#include <map>

#include "schemas/chat/chat_request_fields.h"
#include "schemas/json/url_text.h"
#include "schemas/media/media_type.h"

// Readers of tools and of tool_choice; they convert the old form to the current one.
namespace millrace::schemas {
namespace {

constexpr std::int64_t kToolNameMax = 128;

void add_name(void* object, FieldReader& reader, const Json& value) {
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

void read_allowed(void* object, FieldReader& reader, const Json& value);
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

std::string_view type_of(FieldReader& reader, const Json& value) {
  const auto at = value.find("type");
  return at == value.end() ? std::string_view() : reader.text(*at).value_or("");
}

// Reads a tool by its type, which has been checked.
void read_tool(FieldReader& reader, const Json& value, std::vector<std::string>& names) {
  reader.read(kTool, value, &names);
  if (!value.is_object()) return;
  const std::string_view type = type_of(reader, value);
  if (type == "function") reader.read(kFunctionTool, value, &names);
  if (type == "custom") reader.read(kCustomTool, value, &names);
}

void read_allowed(void* object, FieldReader& reader, const Json& value) {
  if (!reader.is_list(value, 1)) return;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const FieldReader::Inside item(reader, i);
    read_tool(reader, value[i], *static_cast<std::vector<std::string>*>(object));
  }
}

// Other endpoints use the form {type: function, name}.
bool is_flat(FieldReader& reader, const Json& choice) {
  return type_of(reader, choice) == "function" && choice.contains("name") && !choice.contains("function");
}

Json function_tool(Json function) { return {{"type", "function"}, {"function", std::move(function)}}; }

}  // namespace

void read_chat_tools(void* object, FieldReader& reader, const Json& value) {
  if (!reader.is_list(value)) return;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const FieldReader::Inside item(reader, i);
    read_tool(reader, value[i], chat_request_draft(object).tools);
  }
}

void read_chat_functions(void* object, FieldReader& reader, const Json& value) {
  if (!reader.is_list(value)) return;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const FieldReader::Inside item(reader, i);
    reader.read(kDeclaredFunction, value[i], &chat_request_draft(object).functions);
  }
}

void read_tool_choice(void* object, FieldReader& reader, const Json& value) {
  if (!value.is_object()) {
    reader.check(Field{.name = {}, .choices = kChoiceWords}, value);
    return;
  }
  auto& chosen = chat_request_draft(object).chosen;
  if (is_flat(reader, value)) return reader.read(kNamed, value, &chosen);
  reader.read(kChoice, value, &chosen);
  const std::string_view type = type_of(reader, value);
  if (type == "function") reader.read(kFunctionChoice, value, &chosen);
  if (type == "custom") reader.read(kCustomChoice, value, &chosen);
  if (type == "allowed_tools") reader.read(kAllowedChoice, value, &chosen);
}

void read_function_call(void* object, FieldReader& reader, const Json& value) {
  if (value.is_object()) return reader.read(kNamed, value, &chat_request_draft(object).chosen_function);
  reader.check(Field{.name = {}, .choices = kOldWords}, value);
}

void form_tool_choice(Json& body) {
  const auto choice = body.find("tool_choice");
  if (choice == body.end()) return;
  if (*choice == "any") *choice = "required";  // Mistral's name for it
  if (!choice->is_object()) return;
  if (choice->contains("function") || !choice->contains("name")) return;
  *choice = function_tool({{"name", std::move((*choice)["name"])}});
}

namespace {

// Some providers refuse null in place of a text or a flag.
void erase_null_members(Json& tools) {
  if (!tools.is_array()) return;
  for (Json& tool : tools) {
    const auto function = tool.is_object() ? tool.find("function") : tool.end();
    if (function == tool.end() || !function->is_object()) continue;
    for (const char* name : {"description", "strict"}) {
      if (function->contains(name) && (*function)[name].is_null()) function->erase(name);
    }
  }
}

}  // namespace

void form_functions(Json& body, ChatRequest& out) {
  if (const auto functions = body.find("functions"); functions != body.end()) {
    if (body.contains("tools")) {
      out.dropped.push_back({.name = "functions"});
    } else {
      out.old_functions = true;
      Json& tools = body["tools"] = Json::array();
      for (Json& each : *functions) tools.push_back(function_tool(std::move(each)));
    }
    body.erase("functions");
  }
  if (const auto tools = body.find("tools"); tools != body.end()) erase_null_members(*tools);
  if (const auto call = body.find("function_call"); call != body.end()) {
    if (body.contains("tool_choice")) {
      out.dropped.push_back({.name = "function_call"});
    } else {
      out.old_functions = true;
      Json choice = std::move(*call);
      body["tool_choice"] = choice.is_object() ? function_tool(std::move(choice)) : std::move(choice);
    }
    body.erase("function_call");
  }
}

// Readers of mcp_servers and of the routing parameters.

namespace {

constexpr std::int64_t kServerNameMax = 256, kServerUrlMax = 4096;
constexpr std::size_t kAttributesMax = 64, kAttributeModelsMax = 128;

template <auto Member>
void store_ref(void* object, FieldReader& reader, const Json& value) {
  assign(reader, value, static_cast<McpServerRef*>(object)->*Member);
}

void refuse_command(void*, FieldReader& reader, const Json&) {
  reader.problem("The gateway starts no programs for a request: give a server by `url` or `slug`",
                 "extra_forbidden");
}

constexpr std::array kServer{
    Field{.name = "slug", .min = 1, .max = kServerNameMax, .store = &store_ref<&McpServerRef::slug>},
    Field{.name = "version", .min = 1, .max = kServerNameMax, .store = &store_ref<&McpServerRef::version>},
    Field{.name = "url", .min = 1, .max = kServerUrlMax, .store = &store_ref<&McpServerRef::url>},
    Field{.name = "name", .min = 1, .max = kServerNameMax, .store = &store_ref<&McpServerRef::name>},
    Field{.name = "command", .type = FieldType::kCustom, .custom = &refuse_command},
    Field{.name = "args", .type = FieldType::kCustom, .custom = &refuse_command},
};

bool is_visible(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c != '\x7f'; });
}

bool check_url(FieldReader& reader, std::string_view url) {
  const bool good = plausible_url(url) && !has_credentials(url);
  if (!good) reader.problem("Input should be an http or https URL without credentials", "url_parsing");
  return good;
}

bool check_slug(FieldReader& reader, std::string_view slug) {
  if (!is_visible(slug)) reader.problem("A slug should have no white space", "value_error");
  return is_visible(slug);
}

// Reads a server given as an object; also refuses forbidden members.
void add_object(ChatRequestDraft& draft, FieldReader& reader, const Json& value) {
  McpServerRef ref;
  const std::size_t before = reader.failures();
  reader.read(kServer, value, &ref);
  if (reader.failures() != before) return;
  for (const auto& [name, ignored] : value.items()) {
    const bool known =
        std::any_of(kServer.begin(), kServer.end(), [&](const Field& f) { return f.name == name; });
    if (!known) draft.dropped.push_back({.name = "mcp_servers." + name});
  }
  if (ref.slug.empty() == ref.url.empty())
    return reader.problem("Give either `url` or `slug`", "value_error");
  const FieldReader::Inside member(reader, ref.slug.empty() ? "url" : "slug");
  if (!(ref.slug.empty() ? check_url(reader, ref.url) : check_slug(reader, ref.slug))) return;
  ref.field = reader.place();
  draft.mcp_servers.push_back(std::move(ref));
}

void add_server(ChatRequestDraft& draft, FieldReader& reader, const Json& value) {
  if (value.is_object()) return add_object(draft, reader, value);
  const auto text = read_name(reader, value, kServerUrlMax);
  if (!text) return;
  const bool is_url = text->find("://") != std::string_view::npos;
  if (is_url ? !check_url(reader, *text) : !check_slug(reader, *text)) return;
  McpServerRef ref;
  (is_url ? ref.url : ref.slug) = *text;
  ref.field = reader.place();
  draft.mcp_servers.push_back(std::move(ref));
}

void read_attributes(FieldReader& reader, const Json& value, Attributes& to) {
  if (!reader.is_object(value, kAttributesMax)) return;
  const Field row{.name = {}, .type = FieldType::kNumber, .min = 0, .max = 1};
  for (const auto& [name, strength] : value.items()) {
    const FieldReader::Inside member(reader, name);
    if (reader.check(row, strength)) to[name] = strength.get<double>();
  }
}

}  // namespace

void read_mcp_servers(void* object, FieldReader& reader, const Json& value) {
  auto& draft = *static_cast<ChatRequestDraft*>(object);
  if (!value.is_array()) return add_server(draft, reader, value);
  if (!reader.is_list(value, 0, kMcpServersMax)) return;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const FieldReader::Inside item(reader, i);
    add_server(draft, reader, value[i]);
  }
}

void read_model_attributes(void* object, FieldReader& reader, const Json& value) {
  if (!reader.is_object(value, kAttributeModelsMax)) return;
  auto& models = static_cast<ChatRequestDraft*>(object)->model_attributes;
  for (const auto& [model, attributes] : value.items()) {
    const FieldReader::Inside member(reader, model);
    read_attributes(reader, attributes, models[model]);
  }
}

void read_agent_attributes(void* object, FieldReader& reader, const Json& value) {
  read_attributes(reader, value, static_cast<ChatRequestDraft*>(object)->agent_attributes);
}

// Converts validated messages to OpenAI's current form.

namespace {

// Removes a member from an object and returns it.
Json taken(Json& object, const char* name) {
  Json value = std::move(object[name]);
  object.erase(name);
  return value;
}

void erase_nulls(Json& object) {
  for (auto at = object.begin(); at != object.end();) at = at->is_null() ? object.erase(at) : std::next(at);
}

void form_image(Json& part) {
  Json url = taken(part, "image_url");
  if (url.is_string()) url = {{"url", std::move(url)}};
  if (part.contains("detail")) url["detail"] = taken(part, "detail");
  part["type"] = "image_url";
  part["image_url"] = std::move(url);
}

// `name`: audio_url or video_url.
void form_media_url(Json& part, const std::string& name) {
  if (part[name].is_string()) part[name] = Json{{"url", taken(part, name.c_str())}};
}

void form_file(Json& part) {
  Json file = Json::object();
  for (const char* name : {"file_data", "file_id", "file_url", "filename"})
    if (part.contains(name)) file[name] = taken(part, name);
  part["type"] = "file";
  part["file"] = std::move(file);
}

// The first bytes decide about the media type: many clients declare another.
void correct_media_types(Json& part) {
  const std::string type = part["type"].get<std::string>();
  if (type.ends_with("_url")) correct_data_uri(part[type]["url"].get_ref<std::string&>());
  if (type == "file") {
    const auto data = part["file"].find("file_data");
    if (data != part["file"].end() && data->is_string()) correct_data_uri(data->get_ref<std::string&>());
  }
  if (type == "input_audio") {
    Json& audio = part["input_audio"];
    const std::string declared = audio["format"];
    audio["format"] = corrected_audio_format(declared, audio["data"].get_ref<const std::string&>());
  }
}

void form_part(Json& part) {
  erase_nulls(part);
  const std::string type = part["type"].get<std::string>();
  if (type == "input_text" || type == "output_text") part["type"] = "text";
  if (type == "input_image" || type == "image_url") form_image(part);
  if (type == "audio_url" || type == "video_url") form_media_url(part, type);
  if (type == "input_file") form_file(part);
  correct_media_types(part);
}

// Creates ids for calls of the old form, which has none: one per message with a call. The result's message
// finds the id by the function's name.
class OldCalls {
 public:
  Json with_id(Json call, std::size_t message) {
    std::string id = "call_" + std::to_string(message);
    ids_[call["name"].get<std::string>()] = id;
    return {{"id", std::move(id)}, {"type", "function"}, {"function", std::move(call)}};
  }
  const std::string& id(const std::string& name) { return ids_[name]; }

 private:
  std::map<std::string, std::string> ids_;
};

void form_calls(Json& message, OldCalls& old, std::size_t place) {
  if (message.contains("function_call")) {
    Json call = old.with_id(taken(message, "function_call"), place);
    if (!message.contains("tool_calls")) message["tool_calls"] = Json::array({std::move(call)});
  }
  const auto calls = message.find("tool_calls");
  if (calls == message.end()) return;
  if (calls->empty()) {
    message.erase(calls);
    return;
  }
  for (Json& call : *calls) {
    erase_nulls(call);
    call.emplace("type", "function");
  }
}

}  // namespace

void form_messages(Json& messages) {
  OldCalls old;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    Json& message = messages[i];
    erase_nulls(message);
    message.erase(std::string(kReasoningStateMember));
    message.erase(std::string(kPicturesMember));
    if (message["role"] == "function") {
      message["role"] = "tool";
      message["tool_call_id"] = old.id(message["name"].get<std::string>());
      message.erase("name");
      message.emplace("content", "");
    }
    form_calls(message, old, i);
    const auto content = message.find("content");
    if (content == message.end() || !content->is_array()) continue;
    for (Json& part : *content) form_part(part);
  }
}

}  // namespace millrace::schemas
