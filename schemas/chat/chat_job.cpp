#include "schemas/chat/chat_job.h"

#include <array>
#include <charconv>
#include <utility>

#include "schemas/chat/chat_text.h"
#include "schemas/json/json_body.h"
#include "schemas/json/json_text.h"

namespace millrace::schemas {
namespace {

constexpr std::string_view kData = "data:";
constexpr std::string_view kBase64 = ";base64,";

std::string text_of(const Json& object, const char* name) {
  const auto at = object.find(name);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

// The decoded size of an image part with a data URI; 0: the part has no data URI.
std::size_t inline_bytes(const Json& part) {
  if (!part.is_object() || part.value("type", Json()) != "image_url") return 0;
  const auto image = part.find("image_url");
  if (image == part.end()) return 0;
  const Json& url = image->is_object() ? image->value("url", Json()) : *image;
  const auto* text = url.get_ptr<const std::string*>();
  if (text == nullptr || !text->starts_with(kData)) return 0;
  const std::size_t comma = text->find(',');
  if (comma == std::string::npos) return 0;
  const std::size_t coded = text->size() - comma - 1;
  const bool base64 = text->substr(0, comma + 1).ends_with(kBase64);
  return base64 ? coded / 4 * 3 : coded;
}

bool drop_large(Json& content) {
  bool dropped = false;
  for (Json& part : content) {
    const std::size_t bytes = inline_bytes(part);
    if (bytes <= kStoredImageMax) continue;
    part = {{"type", "text"}, {"text", "[an image of " + std::to_string(bytes) + " bytes, not kept]"}};
    dropped = true;
  }
  return dropped;
}

}  // namespace

std::string chat_outcome_text(const ChatOutcome& outcome) {
  JsonObject line;
  line.member("model", outcome.model).number("attempts", outcome.attempts);
  if (!outcome.dropped.empty()) line.member("dropped", outcome.dropped);
  if (!outcome.usage.empty()) line.raw("usage", outcome.usage);
  if (outcome.cost_usd) line.raw("cost_usd", dollars(*outcome.cost_usd));
  return line.finish().append("\n").append(outcome.completion);
}

std::optional<ChatOutcome> chat_outcome_from(std::string text) {
  const std::size_t end = text.find('\n');
  if (end == std::string::npos) return std::nullopt;
  const Json line =
      Json::parse(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(end), nullptr, false);
  if (!line.is_object()) return std::nullopt;
  ChatOutcome out;
  out.model = text_of(line, "model");
  out.dropped = text_of(line, "dropped");
  out.param = text_of(line, "param");
  if (const auto at = line.find("attempts"); at != line.end() && at->is_number_integer())
    out.attempts = at->get<int>();
  if (const auto at = line.find("usage"); at != line.end()) out.usage = dump(*at);
  if (const auto at = line.find("cost_usd"); at != line.end() && at->is_number())
    out.cost_usd = at->get<double>();
  text.erase(0, end + 1);
  out.completion = std::move(text);
  return out;
}

std::string chat_usage_json(const std::optional<ChatUsage>& usage) {
  std::string out;
  if (usage) append_usage(out, usage);
  return out;
}

std::string dollars(double usd) {
  constexpr int kDecimals = 9;
  std::array<char, 64> buffer{};
  const auto [end, failed] =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), usd, std::chars_format::fixed, kDecimals);
  if (failed != std::errc()) return "0";
  std::string_view text(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
  while (text.ends_with('0')) text.remove_suffix(1);
  if (text.ends_with('.')) text.remove_suffix(1);
  return std::string(text);
}

bool drop_large_images(ChatRequest& request) {
  bool dropped = false;
  const auto messages = request.body.find("messages");
  if (messages == request.body.end() || !messages->is_array()) return false;
  for (Json& message : *messages) {
    const auto content = message.is_object() ? message.find("content") : message.end();
    if (content != message.end() && content->is_array()) dropped = drop_large(*content) || dropped;
  }
  return dropped;
}

}  // namespace millrace::schemas
