#include "ai/providers/anthropic_blocks.h"

#include "platform/base/base64.h"

namespace millrace::providers {
namespace {

constexpr std::string_view kPdf = "application/pdf";

base::Error cannot(std::string_view what) {
  return base::error(base::Code::kInvalidField,
                     "messages: " + std::string(what) + " cannot be told to an Anthropic model", "messages");
}

Json base64_source(std::string_view media_type, std::string_view data) {
  return {{"type", "base64"}, {"media_type", media_type}, {"data", data}};
}

Json url_source(std::string_view url) { return {{"type", "url"}, {"url", url}}; }

Json block(std::string_view type, Json source) { return {{"type", type}, {"source", std::move(source)}}; }

Json image_block(const ContentPart& part) {
  if (!part.base64.empty()) {
    return block(part.media_type == kPdf ? "document" : "image", base64_source(part.media_type, part.base64));
  }
  return block(media_type_named(part.url) == kPdf ? "document" : "image", url_source(part.url));
}

base::Result<Json> document_source(const ContentPart& part) {
  if (!part.file_id.empty()) return Json{{"type", "file"}, {"file_id", part.file_id}};
  if (!part.url.empty()) return url_source(part.url);
  if (part.media_type == kPdf || part.media_type.empty()) return base64_source(kPdf, part.base64);
  if (!part.media_type.starts_with("text/") && part.media_type != "application/json") {
    return cannot("a file of type " + part.media_type);
  }
  std::optional<std::string> text = base::base64_decode(part.base64);
  if (!text) return cannot("a file that is no base64");
  return Json{{"type", "text"}, {"media_type", "text/plain"}, {"data", *std::move(text)}};
}

base::Result<Json> file_block(const ContentPart& part) {
  if (part.media_type.starts_with("image/") && part.file_id.empty()) return image_block(part);
  base::Result<Json> source = document_source(part);
  if (!source) return source.error();
  Json document = block("document", *std::move(source));
  if (!part.file_name.empty()) document["title"] = part.file_name;
  return document;
}

base::Result<Json> part_block(const ContentPart& part) {
  switch (part.kind) {
    case ContentPart::Kind::kText:
      return anthropic_text_block(part.text, nullptr);
    case ContentPart::Kind::kImage:
      return image_block(part);
    case ContentPart::Kind::kFile:
      return file_block(part);
    case ContentPart::Kind::kAudio:
      break;
  }
  return cannot("input_audio");
}

}  // namespace

Json anthropic_text_block(std::string_view text, const Json* cache_control) {
  Json made = {{"type", "text"}, {"text", text}};
  if (cache_control != nullptr) made["cache_control"] = *cache_control;
  return made;
}

base::Result<Json> anthropic_blocks(const Json* content, Parameters& report, bool& names_files) {
  const auto parts = read_content(content, report);
  if (!parts) return parts.error();
  Json blocks = Json::array();
  for (const ContentPart& part : *parts) {
    if (part.kind == ContentPart::Kind::kText && is_blank(part.text)) continue;
    base::Result<Json> made = part_block(part);
    if (!made) return made.error();
    if (part.cache_control != nullptr) (*made)["cache_control"] = *part.cache_control;
    if (!part.detail.empty() && part.detail != "auto") report.dropped("messages.detail");
    names_files = names_files || !part.file_id.empty();
    blocks.push_back(*std::move(made));
  }
  return blocks;
}

}  // namespace millrace::providers
