#include "ai/providers/gemini_parts.h"

#include "ai/providers/content_part.h"

namespace millrace::providers {
namespace {

// The kind of file whose name does not tell it.
std::string_view default_type(ContentPart::Kind kind) {
  switch (kind) {
    case ContentPart::Kind::kImage:
      return "image/jpeg";
    case ContentPart::Kind::kAudio:
      return "audio/wav";
    case ContentPart::Kind::kText:
    case ContentPart::Kind::kFile:
      break;
  }
  return "application/pdf";
}

Json media_part(const ContentPart& part) {
  const std::string_view address = !part.file_id.empty() ? part.file_id : part.url;
  std::string_view type = part.media_type;
  if (type.empty()) type = media_type_named(address);
  if (type.empty()) type = default_type(part.kind);
  if (!part.base64.empty()) return {{"inlineData", {{"mimeType", type}, {"data", part.base64}}}};
  return {{"fileData", {{"mimeType", type}, {"fileUri", address}}}};
}

}  // namespace

base::Result<Json> gemini_parts(const Json* content, Parameters& report) {
  const auto given = read_content(content, report);
  if (!given) return given.error();
  Json parts = Json::array();
  for (const ContentPart& part : *given) {
    if (!part.detail.empty() && part.detail != "auto") report.dropped("messages.detail");
    if (part.kind != ContentPart::Kind::kText) {
      parts.push_back(media_part(part));
    } else if (!part.text.empty()) {
      parts.push_back({{"text", part.text}});
    }
  }
  return parts;
}

}  // namespace millrace::providers
