#include <algorithm>
#include <array>
#include <set>

#include "platform/base/base64.h"
#include "schemas/chat/chat_request_fields.h"
#include "schemas/json/url_text.h"

// Readers of message content: texts and parts.
namespace millrace::schemas {
namespace {

void read_media_url(void* object, FieldReader& reader, const Json& value);
void read_source(void* object, FieldReader& reader, const Json& value);
void read_file_url(void* object, FieldReader& reader, const Json& value);
void read_thinking(void* object, FieldReader& reader, const Json& value);

constexpr std::array kTextPart{Field{.name = "text", .required = true}};
constexpr std::array kRefusalPart{Field{.name = "refusal", .required = true}};
constexpr std::array kThought{
    Field{.name = "type", .required = true},
    Field{.name = "text"},
};
constexpr std::array kThinkingPart{
    Field{.name = "thinking", .type = FieldType::kCustom, .required = true, .custom = &read_thinking}};
constexpr std::array kImagePart{
    Field{.name = "image_url", .type = FieldType::kCustom, .required = true, .custom = &read_media_url}};
constexpr std::array kAudioUrlPart{
    Field{.name = "audio_url", .type = FieldType::kCustom, .required = true, .custom = &read_media_url}};
constexpr std::array kVideoUrlPart{
    Field{.name = "video_url", .type = FieldType::kCustom, .required = true, .custom = &read_media_url}};
constexpr std::array kAudio{
    Field{.name = "data", .required = true, .min = 1},
    Field{.name = "format", .required = true, .min = 1},
};
constexpr std::array kAudioPart{
    Field{.name = "input_audio", .type = FieldType::kObject, .required = true, .members = kAudio}};
constexpr std::array kFile{
    Field{.name = "file_data", .min = 1, .store = &read_source},
    Field{.name = "file_id", .min = 1, .store = &read_source},
    Field{.name = "file_url", .min = 1, .store = &read_file_url},
    Field{.name = "filename"},
};
constexpr std::array kFilePart{
    Field{.name = "file", .type = FieldType::kObject, .required = true, .members = kFile}};

// The required fields of a part type, and the roles that may send it.
struct PartType {
  std::string_view name;
  std::span<const Field> members;
  bool system, user, assistant, tool;
};
// First the names of Chat Completions, then those of vLLM and of the Responses API.
constexpr std::array kPartTypes{
    PartType{"text", kTextPart, true, true, true, true},
    PartType{"image_url", kImagePart, false, true, false, true},
    PartType{"input_audio", kAudioPart, false, true, false, false},
    PartType{"file", kFilePart, false, true, false, true},
    PartType{"refusal", kRefusalPart, false, false, true, false},
    PartType{"thinking", kThinkingPart, false, false, true, false},
    PartType{"audio_url", kAudioUrlPart, false, true, false, false},
    PartType{"video_url", kVideoUrlPart, false, true, false, false},
    PartType{"input_text", kTextPart, true, true, true, true},
    PartType{"output_text", kTextPart, true, true, true, true},
    PartType{"input_image", kImagePart, false, true, false, true},
    PartType{"input_file", kFile, false, true, false, true},
};

bool may_send(const PartType& type, ContentOf role) {
  switch (role) {
    case ContentOf::kSystem:
      return type.system;
    case ContentOf::kUser:
      return type.user;
    case ContentOf::kAssistant:
      return type.assistant;
    case ContentOf::kTool:
      return type.tool;
  }
  return false;
}

constexpr std::array kUrl{Field{.name = "url", .required = true}};

bool is_web_url(std::string_view url) {
  return plausible_url(url) && !has_credentials(url) && url.size() <= kUrlMax;
}

void note_url(void* urls, const FieldReader& reader, std::string_view url) {
  static_cast<std::vector<NamedUrl>*>(urls)->push_back({std::string(url), reader.place()});
}

// REQUIRES: data_uri_base64.
void check_data_uri(FieldReader& reader, std::string_view url) {
  const std::string_view base64 = *data_uri_base64(url);
  if (base64.empty() || !base::is_base64(base64))
    reader.problem("The data URI does not hold valid base64", "url_parsing");
}

void check_media_url(void* urls, FieldReader& reader, std::string_view url) {
  const bool data = has_scheme(url, "data:");
  if (!data && is_web_url(url)) return note_url(urls, reader, url);
  if (data && data_uri_base64(url)) return check_data_uri(reader, url);
  reader.problem(
      "Input should be an HTTPS URL without credentials or a data URI data:<media_type>;base64,<data>",
      "url_parsing");
}

void read_media_url(void* urls, FieldReader& reader, const Json& value) {
  if (const auto text = reader.text(value)) return check_media_url(urls, reader, *text);
  if (!value.is_object())
    return reader.problem("Input should be a string or an object with a string `url`", "string_type", &value);
  reader.read(kUrl, value, nullptr);
  const auto url = value.find("url");
  const auto text = url == value.end() ? std::nullopt : reader.text(*url);
  const FieldReader::Inside member(reader, "url");
  if (text) check_media_url(urls, reader, *text);
}

// A source that is neither a data URI nor a known id is treated as a URL: a provider might fetch it.
void read_source(void* urls, FieldReader& reader, const Json& value) {
  const std::string_view source = *reader.text(value);
  if (has_scheme(source, "data:") && data_uri_base64(source)) return check_data_uri(reader, source);
  if (!has_scheme(source, "http://") && !has_scheme(source, "https://")) return;
  if (is_web_url(source)) return note_url(urls, reader, source);
  reader.problem("Input should be an HTTPS URL without credentials", "url_parsing");
}

void read_file_url(void* urls, FieldReader& reader, const Json& value) {
  const std::string_view url = *reader.text(value);
  if (is_web_url(url)) return note_url(urls, reader, url);
  reader.problem("Input should be an HTTPS URL without credentials", "url_parsing");
}

// Mistral sends a model's reasoning as a list of parts, other providers as one text.
void read_thinking(void*, FieldReader& reader, const Json& value) {
  if (reader.text(value) || !reader.is_list(value)) return;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const FieldReader::Inside item(reader, i);
    reader.read(kThought, value[i], nullptr);
  }
}

void check_file(FieldReader& reader, const Json& file) {
  const auto has = [&](const char* name) { return file.contains(name) && !file[name].is_null(); };
  if (file.is_object() && !has("file_data") && !has("file_id") && !has("file_url"))
    reader.problem("Give `file_data` as a data URI, `file_url` or `file_id`", "missing");
}

std::string names_for(ContentOf role) {
  std::string out;
  for (const PartType& each : kPartTypes) {
    if (!may_send(each, role)) continue;
    out.append(out.empty() ? "'" : ", '").append(each.name).append("'");
  }
  return out;
}

void read_part(FieldReader& reader, const Json& value, ContentOf role, std::vector<NamedUrl>& urls) {
  static constexpr std::array kAnyPart{Field{.name = "type", .required = true}};
  const std::size_t before = reader.failures();
  reader.read(kAnyPart, value, nullptr);
  if (reader.failures() != before) return;
  const std::string_view type = *reader.text(value["type"]);
  const auto row = std::find_if(kPartTypes.begin(), kPartTypes.end(),
                                [&](const PartType& each) { return each.name == type; });
  if (row == kPartTypes.end() || !may_send(*row, role)) {
    const FieldReader::Inside member(reader, "type");
    return reader.problem("Input should be one of " + names_for(role) + " in a message of this role",
                          "literal_error", &value["type"]);
  }
  reader.read(row->members, value, &urls);
  if (type == "input_file") return check_file(reader, value);
  const FieldReader::Inside member(reader, "file");
  if (type == "file" && value.contains("file")) check_file(reader, value["file"]);
}

}  // namespace

ContentOf content_of(std::string_view role) {
  if (role == "user") return ContentOf::kUser;
  if (role == "assistant") return ContentOf::kAssistant;
  if (role == "tool" || role == "function") return ContentOf::kTool;
  return ContentOf::kSystem;
}

void read_content(FieldReader& reader, const Json& value, ContentOf role, std::vector<NamedUrl>& urls) {
  if (reader.text(value)) return;
  if (!value.is_array())
    return reader.problem("Input should be a string or a list of parts", "string_type", &value);
  const bool needed = role == ContentOf::kSystem || role == ContentOf::kUser;
  if (!reader.is_list(value, needed ? 1 : 0)) return;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const FieldReader::Inside item(reader, i);
    read_part(reader, value[i], role, urls);
  }
}

// Readers of a request's messages.

namespace {

constexpr std::array<std::string_view, 6> kRoles{"system",    "developer", "user",
                                                 "assistant", "tool",      "function"};

// The struct that a message's table fills, and the pending old-form function calls of earlier messages.
struct Message {
  std::set<std::string, std::less<>>& functions;
  std::vector<NamedUrl>& urls;
  std::string role;
  std::string name;
  bool has_content = false, has_call_id = false;
};

void store_role(void* object, FieldReader& reader, const Json& value) {
  static_cast<Message*>(object)->role = *reader.text(value);
}
void store_name(void* object, FieldReader& reader, const Json& value) {
  static_cast<Message*>(object)->name = *reader.text(value);
}
void store_call_id(void* object, FieldReader&, const Json&) {
  static_cast<Message*>(object)->has_call_id = true;
}
void store_function(void* object, FieldReader& reader, const Json& value) {
  static_cast<Message*>(object)->functions.emplace(*reader.text(value));
}
void read_message_content(void* object, FieldReader& reader, const Json& value) {
  auto& message = *static_cast<Message*>(object);
  message.has_content = true;
  read_content(reader, value, content_of(message.role), message.urls);
}
void read_calls(void* object, FieldReader& reader, const Json& value);

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

// The role comes first, because the other fields depend on it.
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

void read_calls(void* object, FieldReader& reader, const Json& value) {
  if (static_cast<Message*>(object)->role != "assistant")
    return reader.problem("Only messages of role assistant may have calls", "value_error");
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

void no_content(FieldReader& reader, const Json& value) {
  if (!value.contains("content")) return missing(reader, "content");
  const FieldReader::Inside member(reader, "content");
  reader.problem("Input should be a string or a list of parts; only messages of role assistant may have null",
                 "string_type", &value["content"]);
}

// Checks the fields that a role requires.
void check_role(FieldReader& reader, const Message& message, const Json& value) {
  const std::string& role = message.role;
  const bool may_be_silent = role == "assistant" || role == "function";
  if (!may_be_silent && !message.has_content) no_content(reader, value);
  if (role == "tool" && !message.has_call_id) missing(reader, "tool_call_id");
  if (role != "function") return;
  if (message.name.empty()) return missing(reader, "name");
  if (message.functions.contains(message.name)) return;
  const FieldReader::Inside member(reader, "name");
  reader.problem("No earlier message has a function_call of this name", "value_error");
}

}  // namespace

void read_chat_messages(void* object, FieldReader& reader, const Json& value) {
  auto& draft = *static_cast<ChatRequestDraft*>(object);
  if (const auto text = reader.text(value)) {
    draft.has_messages = !text->empty();
    return;
  }
  if (!value.is_array())
    return reader.problem("Input should be a string or a list of messages", "list_type", &value);
  draft.has_messages = !value.empty();
  std::set<std::string, std::less<>> functions;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const FieldReader::Inside item(reader, i);
    Message message{.functions = functions, .urls = draft.urls, .role = {}, .name = {}};
    const std::size_t before = reader.failures();
    reader.read(kMessage, value[i], &message);
    if (reader.failures() == before) check_role(reader, message, value[i]);
  }
}

// Reads `input` and converts it to messages.

namespace {

struct Item {
  std::vector<NamedUrl>& urls;
  std::string role;
};
void store_item_role(void* object, FieldReader& reader, const Json& value) {
  static_cast<Item*>(object)->role = *reader.text(value);
}
void read_item_content(void* object, FieldReader& reader, const Json& value) {
  auto& item = *static_cast<Item*>(object);
  read_content(reader, value, content_of(item.role), item.urls);
}
void read_output(void* object, FieldReader& reader, const Json& value) {
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

void read_item(FieldReader& reader, const Json& value, std::vector<NamedUrl>& urls) {
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

// Consecutive calls become one message, together with the assistant's text before them.
void add_call(Json& messages, const Json& item) {
  if (messages.empty() || messages.back()["role"] != "assistant") messages.push_back({{"role", "assistant"}});
  messages.back()["tool_calls"].push_back(
      {{"id", item["call_id"]},
       {"type", "function"},
       {"function", {{"name", item["name"]}, {"arguments", item["arguments"]}}}});
}

std::string type_of(const Json& item) {
  const auto type = item.find("type");
  return type == item.end() || !type->is_string() ? "message" : type->get<std::string>();
}

}  // namespace

void read_chat_input(void* object, FieldReader& reader, const Json& value) {
  auto& draft = *static_cast<ChatRequestDraft*>(object);
  if (const auto text = reader.text(value)) {
    draft.has_input = !text->empty();
    return;
  }
  if (!value.is_array())
    return reader.problem("Input should be a string or a list of items", "list_type", &value);
  draft.has_input = !value.empty();
  for (std::size_t i = 0; i < value.size(); ++i) {
    const FieldReader::Inside item(reader, i);
    read_item(reader, value[i], draft.urls);
  }
}

Json messages_of_input(Json input, DroppedParams& dropped) {
  Json messages = Json::array();
  for (Json& item : input) {
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
