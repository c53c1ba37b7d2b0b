#include "ai/providers/media_check.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <span>
#include <string>

#include "ai/providers/content_part.h"
#include "ai/providers/json_access.h"
#include "schemas/json/json_text.h"
#include "schemas/json/url_text.h"
#include "schemas/media/media_type.h"

namespace millrace::providers {
namespace {

constexpr std::string_view kPdfType = "application/pdf";

constexpr std::array<std::string_view, 4> kUsualImages{"image/png", "image/jpeg", "image/webp", "image/gif"};
constexpr std::array<std::string_view, 2> kXaiImages{"image/png", "image/jpeg"};
constexpr std::array<std::string_view, 5> kGeminiImages{"image/png", "image/jpeg", "image/webp", "image/heic",
                                                        "image/heif"};
constexpr std::array<std::string_view, 2> kOpenaiAudio{"wav", "mp3"};

// True for OpenAI, in all its regions ("eu.api.openai.com"), and for Azure.
bool is_openai_server(std::string_view base_url) {
  constexpr std::array<std::string_view, 2> kDomains{".api.openai.com", ".openai.azure.com"};
  std::string host = ".";
  for (const char c : schemas::url_host(base_url))
    host.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
  return std::ranges::any_of(kDomains, [&](std::string_view domain) { return host.ends_with(domain); });
}

// Empty: any type, the server decides.
std::span<const std::string_view> image_types(Dialect dialect) {
  switch (dialect) {
    case Dialect::kOpenai:
    case Dialect::kAnthropic:
    case Dialect::kMistral:
    case Dialect::kGroq:
      return kUsualImages;
    case Dialect::kXai:
      return kXaiImages;
    case Dialect::kGemini:
      return kGeminiImages;
    case Dialect::kLocal:
    case Dialect::kMock:
      break;
  }
  return {};
}

bool has(std::span<const std::string_view> list, std::string_view word) {
  return std::ranges::find(list, word) != list.end();
}

// Anthropic and Gemini take documents beside images, whatever the type of the part.
bool supports_bytes(Dialect dialect, std::string_view part_type, std::string_view media_type) {
  if (supports_image_type(dialect, media_type)) return true;
  const bool is_image = media_type.starts_with("image/");
  if (dialect == Dialect::kGemini)
    return !is_image && media_type.find('/') != std::string_view::npos &&
           media_type != "application/octet-stream";
  if (dialect == Dialect::kAnthropic) return part_type == "file" ? !is_image : media_type == kPdfType;
  return part_type == "file";
}

// Local servers decide themselves.
bool fetches_files(Dialect dialect) {
  return dialect != Dialect::kOpenai && dialect != Dialect::kXai && dialect != Dialect::kGroq;
}

// True if a file has another source than a URL.
bool has_own_source(const Json& file) {
  const std::string_view data = text_of(file, "file_data");
  return !text_of(file, "file_id").empty() || (!data.empty() && !schemas::plausible_url(data));
}

std::string names(std::span<const std::string_view> list) {
  std::string out;
  for (const std::string_view each : list)
    out.append(out.empty() ? "" : ", ").append(each.substr(each.find('/') + 1));
  return out;
}

// The reason why the provider rejects the bytes of a part; empty: it does not.
std::string rejected(const Target& target, const Json& part) {
  const Dialect dialect = media_dialect(target);
  const std::string_view type = text_of(part, "type");
  if ((type == "audio_url" || type == "video_url") && !target.media_urls)
    return "parts of type " + std::string(type) +
           "; set media_urls: true in the model's row if the server does";
  if (type == "input_audio" && dialect == Dialect::kOpenai) {
    const std::string_view format = text_of(member(member(part, "input_audio"), "format"));
    if (has(kOpenaiAudio, format)) return {};
    return "recordings in the format '" + std::string(schemas::cut_text(format, 64)) + "', only " +
           names(kOpenaiAudio);
  }
  const Json* file = type == "file" ? member(part, "file") : nullptr;
  if (file != nullptr && !fetches_files(dialect) && !has_own_source(*file) && !file_address(*file).empty())
    return "files by URL; send the bytes as file_data";
  const Json* source = nullptr;
  if (type == "image_url") source = member(member(part, "image_url"), "url");
  if (type == "image_url" && source == nullptr) source = member(part, "image_url");
  if (file != nullptr) source = member(*file, "file_data");
  const std::string_view uri = text_of(source);
  if (!schemas::has_scheme(uri, "data:") || !schemas::data_uri_base64(uri)) return {};
  const std::string media_type = schemas::data_uri_media_type(uri);
  if (supports_bytes(dialect, type, media_type)) return {};
  const std::string shown = media_type.empty()
                                ? "an unknown type"
                                : "type '" + std::string(schemas::cut_text(media_type, 64)) + "'";
  return (type == "file" ? "files of " : "images of ") + shown + ", only " + names(image_types(dialect));
}

}  // namespace

Dialect media_dialect(const Target& target) {
  const bool is_own = target.preset->name == "openai" && !is_openai_server(target.base_url);
  return is_own ? Dialect::kLocal : target.preset->dialect;
}

bool supports_image_type(Dialect dialect, std::string_view media_type) {
  const auto types = image_types(dialect);
  return types.empty() || has(types, media_type);
}

base::Status check_media(const Target& target, const schemas::ChatRequest& request) {
  const Json* messages = member(request.body, "messages");
  if (messages == nullptr || !messages->is_array()) return {};
  for (std::size_t i = 0; i < messages->size(); ++i) {
    const Json* content = member((*messages)[i], "content");
    if (content == nullptr || !content->is_array()) continue;
    for (std::size_t k = 0; k < content->size(); ++k) {
      const std::string reason = rejected(target, (*content)[k]);
      if (reason.empty()) continue;
      const std::string place = "messages." + std::to_string(i) + ".content." + std::to_string(k);
      return base::error(
          base::Code::kInvalidField,
          place + ": the provider " + std::string(target.preset->name) + " does not take " + reason, place);
    }
  }
  return {};
}

}  // namespace millrace::providers
