#include "ai/providers/content_part.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "ai/providers/wire_text.h"
#include "schemas/json/json_text.h"
#include "schemas/json/url_text.h"
#include "schemas/media/media_type.h"

namespace millrace::providers {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 22> kEndings = {{
    {".png", "image/png"},    {".jpg", "image/jpeg"},        {".jpeg", "image/jpeg"},
    {".webp", "image/webp"},  {".gif", "image/gif"},         {".heic", "image/heic"},
    {".heif", "image/heif"},  {".pdf", "application/pdf"},   {".txt", "text/plain"},
    {".md", "text/markdown"}, {".csv", "text/csv"},          {".html", "text/html"},
    {".xml", "text/xml"},     {".json", "application/json"}, {".mp3", "audio/mp3"},
    {".wav", "audio/wav"},    {".flac", "audio/flac"},       {".ogg", "audio/ogg"},
    {".m4a", "audio/m4a"},    {".mp4", "video/mp4"},         {".mov", "video/mov"},
    {".webm", "video/webm"},
}};

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

base::Error bad_content(std::string message) {
  return base::error(base::Code::kInvalidField, "messages: " + std::move(message), "messages");
}

// Of the head of a data URI: "data:text/csv;charset=utf-16;base64,".
std::string charset_of(std::string_view head) {
  constexpr std::string_view kParameter = "charset=";
  while (!head.empty()) {
    const std::string_view parameter = head.substr(0, head.find_first_of(";,"));
    head.remove_prefix(std::min(parameter.size() + 1, head.size()));
    if (!starts_without_case(parameter, kParameter)) continue;
    std::string charset;
    for (const char c : parameter.substr(kParameter.size())) {
      if (c != '"' && c != ' ') charset.push_back(lower(c));
    }
    return charset;
  }
  return {};
}

// "data:image/png;base64,…" or a URL.
base::Status take_source(std::string_view source, ContentPart& part) {
  if (!starts_without_case(source, "data:")) {
    part.url = source;
    return {};
  }
  const auto base64 = schemas::data_uri_base64(source);
  if (!base64) return bad_content("a data URI has to be base64");
  part.media_type = schemas::data_uri_media_type(source);
  part.charset = charset_of(source.substr(0, source.size() - base64->size()));
  part.base64 = *base64;
  return {};
}

base::Status take_file(const Json& given, ContentPart& part) {
  const Json* file = member(given, "file");
  if (file == nullptr) file = &given;
  part.kind = ContentPart::Kind::kFile;
  part.file_name = text_of(*file, "filename");
  part.file_id = text_of(*file, "file_id");
  part.url = file_address(*file);
  const std::string_view data = text_of(*file, "file_data");
  if (!data.empty() && !schemas::plausible_url(data)) {
    if (!starts_without_case(data, "data:")) {
      part.base64 = data;
      part.media_type = schemas::detect_base64_media_type(data);
    } else if (base::Status taken = take_source(data, part); !taken) {
      return taken;
    }
  }
  if (part.media_type.empty()) part.media_type = media_type_named(part.file_name);
  if (part.base64.empty() && part.url.empty() && part.file_id.empty()) {
    return bad_content("a file part needs file_data, file_url or file_id");
  }
  return {};
}

base::Status take_image(const Json& given, ContentPart& part) {
  const Json* image = member(given, "image_url");
  part.kind = ContentPart::Kind::kImage;
  const std::string_view source =
      image != nullptr && image->is_string() ? text_of(image) : text_of(member(image, "url"));
  part.detail = text_of(member(image, "detail"));
  if (source.empty()) return bad_content("image_url needs a url");
  return take_source(source, part);
}

base::Status take_audio(const Json& given, ContentPart& part) {
  const Json* audio = member(given, "input_audio");
  part.kind = ContentPart::Kind::kAudio;
  part.base64 = text_of(member(audio, "data"));
  part.media_type = "audio/" + std::string(text_of(member(audio, "format")));
  if (part.base64.empty()) return bad_content("input_audio needs data");
  return {};
}

base::Status take_part(const Json& given, ContentPart& part) {
  const std::string_view type = text_of(given, "type");
  part.cache_control = member(given, "cache_control");
  if (type == "image_url" || type == "input_image") return take_image(given, part);
  if (type == "input_audio") return take_audio(given, part);
  if (type == "file" || type == "input_file") return take_file(given, part);
  if (type == "refusal") {
    part.text = text_of(given, "refusal");
  } else if (member(given, "text") != nullptr) {
    part.text = text_of(given, "text");
  } else {
    return bad_content("a content part of type \"" + std::string(schemas::cut_text(type, 40)) +
                       "\" is not supported by this provider");
  }
  return {};
}

}  // namespace

base::Result<std::vector<ContentPart>> read_content(const Json* content, Parameters& report) {
  std::vector<ContentPart> parts;
  if (content == nullptr) return parts;
  if (content->is_string()) {
    parts.emplace_back().text = text_of(content);
    return parts;
  }
  if (!content->is_array()) return bad_content("content must be a string or a list of parts");
  for (const Json& given : *content) {
    if (given.is_string()) {
      parts.emplace_back().text = text_of(&given);
    } else if (text_of(given, "type") == "thinking") {
      report.dropped(kThinkingParts);
    } else if (base::Status taken = take_part(given, parts.emplace_back()); !taken) {
      return taken.error();
    }
  }
  return parts;
}

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n\f\v") == std::string_view::npos;
}

bool starts_without_case(std::string_view text, std::string_view start) {
  return text.size() >= start.size() && std::equal(start.begin(), start.end(), text.begin(),
                                                   [](char a, char b) { return lower(a) == lower(b); });
}

std::string_view media_type_named(std::string_view name) {
  name = name.substr(0, name.find_first_of("?#"));
  for (const auto& [ending, type] : kEndings) {
    if (name.size() > ending.size() &&
        starts_without_case(name.substr(name.size() - ending.size()), ending)) {
      return type;
    }
  }
  return {};
}

std::string_view file_address(const Json& file) {
  const std::string_view url = text_of(file, "file_url"), data = text_of(file, "file_data");
  return url.empty() && schemas::plausible_url(data) ? data : url;
}

std::string_view extension_of(std::string_view media_type) {
  const auto* found =
      std::ranges::find(kEndings, media_type, &std::pair<std::string_view, std::string_view>::second);
  return found == kEndings.end() ? std::string_view() : found->first;
}

}  // namespace millrace::providers
