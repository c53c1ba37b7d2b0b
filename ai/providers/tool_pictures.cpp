#include "ai/providers/tool_pictures.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <span>

#include "ai/providers/media_check.h"
#include "schemas/media/media_type.h"

namespace millrace::providers {
namespace {

using Words = std::span<const std::string_view>;

constexpr std::array<std::string_view, 11> kBlindOpenai{"gpt-3.5", "gpt-35",    "gpt35",   "gpt-4-0",
                                                        "gpt-4-1", "gpt-4-32k", "o1-mini", "o1-preview",
                                                        "o3-mini", "davinci",   "babbage"};
constexpr std::array<std::string_view, 2> kSeeingXai{"grok-4", "vision"};
constexpr std::array<std::string_view, 6> kSeeingMistral{"pixtral",       "mistral-small", "mistral-medium",
                                                         "mistral-large", "ministral",     "magistral"};
constexpr std::array<std::string_view, 16> kSeeing{
    "vision", "-vl",    "vl-",     "llava",  "pixtral", "llama-4", "llama4", "gemma-3",
    "gemma3", "gemini", "claude-", "gpt-4o", "gpt-4.1", "gpt-5",   "grok-4", "internvl"};

bool has_any(std::string_view model, Words words) {
  return std::ranges::any_of(
      words, [&](std::string_view word) { return model.find(word) != std::string_view::npos; });
}

bool is_tool_message(const Json& message) { return text_of(message, "role") == "tool"; }
bool is_image(const Json& part) { return text_of(part, "type") == "image_url"; }

bool has_images(const Json& message) {
  const Json* content = member(message, "content");
  return is_tool_message(message) && content != nullptr && content->is_array() &&
         std::ranges::any_of(*content, is_image);
}

Json text_part(std::string_view text) { return {{"type", "text"}, {"text", text}}; }

// Takes the image parts out of a tool message.
void take_images(Json& message, Json& images) {
  Json& content = message["content"];
  Json rest = Json::array();
  for (Json& part : content) (is_image(part) ? images : rest).push_back(std::move(part));
  if (rest.empty()) rest.push_back(text_part("[image]"));
  content = std::move(rest);
}

}  // namespace

bool sees_images(const Target& target) {
  if (target.vision) return *target.vision;
  std::string model = target.model.substr(target.model.rfind('/') + 1);
  std::ranges::transform(model, model.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  switch (target.preset->dialect) {
    case Dialect::kAnthropic:
    case Dialect::kGemini:
      return true;
    case Dialect::kOpenai:
      if (media_dialect(target) == Dialect::kLocal) return has_any(model, kSeeing);
      return model.find("vision") != std::string::npos ||
             (model != "gpt-4" && std::ranges::none_of(kBlindOpenai, [&](std::string_view begin) {
                return model.starts_with(begin);
              }));
    case Dialect::kXai:
      return has_any(model, kSeeingXai);
    case Dialect::kMistral:
      return has_any(model, kSeeingMistral);
    case Dialect::kGroq:
    case Dialect::kLocal:
      return has_any(model, kSeeing);
    case Dialect::kMock:
      break;
  }
  return false;
}

bool has_pictures(const Json& messages) {
  return std::ranges::any_of(messages, [](const Json& message) {
    return message.is_object() && message.contains(schemas::kPicturesMember);
  });
}

void show_pictures(const Target& target, Json& messages) {
  const bool sees = sees_images(target);
  for (Json& message : messages) {
    const Json* pictures = member(message, schemas::kPicturesMember);
    if (pictures == nullptr) continue;
    Json parts = Json::array({text_part(text_of(message, "content"))});
    for (const Json& picture : *pictures) {
      if (!sees ||
          !supports_image_type(media_dialect(target), schemas::data_uri_media_type(text_of(&picture))))
        continue;
      parts.push_back({{"type", "image_url"}, {"image_url", {{"url", picture}}}});
    }
    message.erase(std::string(schemas::kPicturesMember));
    if (parts.size() > 1) message["content"] = std::move(parts);
  }
}

bool has_tool_images(const Json& messages) { return std::ranges::any_of(messages, has_images); }

void move_tool_images(Json& messages) {
  Json moved = Json::array(), images = Json::array();
  const auto put_images = [&] {
    if (images.empty()) return;
    images.insert(images.begin(), text_part("The images of the tool results above:"));
    moved.push_back({{"role", "user"}, {"content", std::move(images)}});
    images = Json::array();
  };
  for (Json& message : messages) {
    if (!is_tool_message(message)) put_images();
    if (has_images(message)) take_images(message, images);
    moved.push_back(std::move(message));
  }
  put_images();
  messages = std::move(moved);
}

}  // namespace millrace::providers
