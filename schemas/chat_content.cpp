#include <algorithm>
#include <array>

#include "platform/base/base64.h"
#include "schemas/chat_wanted.h"
#include "schemas/url_text.h"

// Reads the content of messages: texts and parts.
namespace millrace::schemas {
namespace {

using nlohmann::json;

void read_image_url(void* object, FieldReader& reader, const json& value);
void read_source(void* object, FieldReader& reader, const json& value);
void read_thinking(void* object, FieldReader& reader, const json& value);

constexpr std::array kTextPart{Field{.name = "text", .required = true}};
constexpr std::array kRefusalPart{Field{.name = "refusal", .required = true}};
constexpr std::array kThought{
    Field{.name = "type", .required = true},
    Field{.name = "text"},
};
constexpr std::array kThinkingPart{
    Field{.name = "thinking", .type = FieldType::kCustom, .required = true, .custom = &read_thinking}};
constexpr std::array kImagePart{
    Field{.name = "image_url", .type = FieldType::kCustom, .required = true, .custom = &read_image_url}};
constexpr std::array kAudio{
    Field{.name = "data", .required = true, .min = 1},
    Field{.name = "format", .required = true, .min = 1},
};
constexpr std::array kAudioPart{
    Field{.name = "input_audio", .type = FieldType::kObject, .required = true, .members = kAudio}};
constexpr std::array kFile{
    Field{.name = "file_data", .min = 1, .store = &read_source},
    Field{.name = "file_id", .min = 1, .store = &read_source},
    Field{.name = "file_url", .min = 1, .store = &read_source},
    Field{.name = "filename"},
};
constexpr std::array kFilePart{
    Field{.name = "file", .type = FieldType::kObject, .required = true, .members = kFile}};

// What a part of a type must have, and who may send it.
struct PartType {
  std::string_view name;
  std::span<const Field> members;
  bool system, user, assistant, tool;
};
// The names of responses follow those of chat.
constexpr std::array kPartTypes{
    PartType{"text", kTextPart, true, true, true, true},
    PartType{"image_url", kImagePart, false, true, false, true},
    PartType{"input_audio", kAudioPart, false, true, false, false},
    PartType{"file", kFilePart, false, true, false, true},
    PartType{"refusal", kRefusalPart, false, false, true, false},
    PartType{"thinking", kThinkingPart, false, false, true, false},
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

void check_image_url(void* urls, FieldReader& reader, std::string_view url) {
  const bool data = has_scheme(url, "data:");
  if (!data && is_web_url(url)) return note_url(urls, reader, url);
  if (data && data_uri_base64(url)) return check_data_uri(reader, url);
  reader.problem(
      "Input should be an HTTPS URL without credentials or a data URI data:<media_type>;base64,<data>",
      "url_parsing");
}

void read_image_url(void* urls, FieldReader& reader, const json& value) {
  if (const auto text = reader.text(value)) return check_image_url(urls, reader, *text);
  if (!value.is_object())
    return reader.problem("Input should be a string or an object with a string `url`", "string_type", &value);
  reader.read(kUrl, value, nullptr);
  const auto url = value.find("url");
  const auto text = url == value.end() ? std::nullopt : reader.text(*url);
  const FieldReader::Inside member(reader, "url");
  if (text) check_image_url(urls, reader, *text);
}

// Providers that know no such source by another name may take it for one to fetch.
void read_source(void* urls, FieldReader& reader, const json& value) {
  const std::string_view source = *reader.text(value);
  if (has_scheme(source, "data:") && data_uri_base64(source)) return check_data_uri(reader, source);
  if (!has_scheme(source, "http://") && !has_scheme(source, "https://")) return;
  if (is_web_url(source)) return note_url(urls, reader, source);
  reader.problem("Input should be an HTTPS URL without credentials", "url_parsing");
}

// Mistral says what a model thought as parts in turn, others as one text.
void read_thinking(void*, FieldReader& reader, const json& value) {
  if (reader.text(value) || !reader.is_list(value)) return;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const FieldReader::Inside item(reader, i);
    reader.read(kThought, value[i], nullptr);
  }
}

void check_file(FieldReader& reader, const json& file) {
  const auto has = [&](const char* name) { return file.contains(name) && !file[name].is_null(); };
  if (file.is_object() && !has("file_data") && !has("file_id"))
    reader.problem("Give `file_data` as a data URI, or `file_id`", "missing");
}

std::string names_for(ContentOf role) {
  std::string out;
  for (const PartType& each : kPartTypes) {
    if (!may_send(each, role)) continue;
    out.append(out.empty() ? "'" : ", '").append(each.name).append("'");
  }
  return out;
}

void read_part(FieldReader& reader, const json& value, ContentOf role, std::vector<NamedUrl>& urls) {
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

void read_content(FieldReader& reader, const json& value, ContentOf role, std::vector<NamedUrl>& urls) {
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

}  // namespace millrace::schemas
