#include "app/cli/chat_body.h"

#include <string_view>

#include <nlohmann/json.hpp>

#include "app/cli/ocr_upload.h"
#include "platform/base/base64.h"

namespace millrace::cli {
using nlohmann::json;
namespace {

constexpr std::string_view kPng = "\x89PNG\r\n\x1a\n";
constexpr std::string_view kJpeg = "\xff\xd8\xff";
constexpr std::size_t kWebpAt = 8;  // RIFF, a length, WEBP

// Empty: none that models read.
std::string_view image_type(std::string_view bytes) {
  if (bytes.starts_with(kPng)) return "image/png";
  if (bytes.starts_with(kJpeg)) return "image/jpeg";
  if (bytes.starts_with("GIF87a") || bytes.starts_with("GIF89a")) return "image/gif";
  const bool is_webp = bytes.starts_with("RIFF") && bytes.substr(0, kWebpAt + 4).ends_with("WEBP");
  return is_webp ? "image/webp" : "";
}

}  // namespace

std::string chat_body(const ChatManner& manner, const json& messages) {
  json body = {{"model", manner.model}, {"messages", messages}};
  if (manner.max_tokens) body["max_completion_tokens"] = *manner.max_tokens;
  if (manner.temperature) body["temperature"] = *manner.temperature;
  if (manner.deferred) body["deferred"] = true;
  if (manner.stream) body["stream"] = true;
  if (manner.stream && manner.usage) body["stream_options"] = {{"include_usage", true}};
  return body.dump(-1, ' ', false, json::error_handler_t::replace);
}

json message_of(const char* role, const std::string& text) { return {{"role", role}, {"content", text}}; }

json user_message(const std::string& text, const std::vector<std::string>& image_urls) {
  if (image_urls.empty()) return message_of("user", text);
  json parts = json::array();
  for (const std::string& url : image_urls)
    parts.push_back({{"type", "image_url"}, {"image_url", {{"url", url}}}});
  parts.push_back({{"type", "text"}, {"text", text}});
  return {{"role", "user"}, {"content", parts}};
}

base::Result<std::string> image_url_of(const std::string& file_or_url) {
  if (file_or_url.starts_with("https://") || file_or_url.starts_with("http://")) return file_or_url;
  auto bytes = read_document(file_or_url);
  if (!bytes) return base::error(bytes.error().code, file_or_url + ": " + bytes.error().message);
  const std::string_view type = image_type(*bytes);
  if (type.empty())
    return base::error(base::Code::kInvalidField, file_or_url + " is no PNG, JPEG, GIF or WebP");
  return "data:" + std::string(type) + ";base64," + base::base64_encode(*bytes);
}

}  // namespace millrace::cli
