#include <algorithm>
#include <array>
#include <utility>

#include "ai/providers/json_access.h"
#include "ai/providers/openai_media.h"
#include "ai/providers/openai_reply.h"
#include "ai/providers/upstream_words.h"
#include "ai/providers/wire_words.h"
#include "schemas/json_body.h"

namespace millrace::providers {
namespace {

using schemas::DroppedParam;
using schemas::Image;
using schemas::ImageEvent;
using schemas::ImageReply;
using schemas::ImageRequest;
using schemas::ImageUsage;

constexpr std::array<std::string_view, 7> kNotXai{
    "size", "quality", "style", "background", "moderation", "output_format", "output_compression"};
constexpr std::array<std::string_view, 3> kImageMembers{"created", "data", "usage"};

bool is_dall_e(std::string_view model) { return model.starts_with("dall-e"); }

void tell_user(Json& rest, WireRequest& made) {
  const auto user = rest.find("user");
  if (user == rest.end() || !user->is_string()) return;
  const std::string whole = user->get<std::string>();
  const std::string_view told = first_characters(whole, kUserCharactersMax);
  if (told.size() == whole.size()) return;
  *user = told;
  made.dropped.push_back({"user", DroppedParam::How::kClamped});
}

void leave_out(const Target& target, Json& rest, WireRequest& made) {
  if (target.preset->dialect != Dialect::kXai) return;
  for (const std::string_view name : kNotXai) {
    if (rest.erase(std::string(name)) > 0)
      made.dropped.push_back({std::string(name), DroppedParam::How::kDropped});
  }
}

std::optional<ImageUsage> usage_of(const Json* said) {
  if (said == nullptr || !said->is_object()) return std::nullopt;
  ImageUsage usage;
  usage.input = std::max<std::int64_t>(integer_of(*said, "input_tokens").value_or(0), 0);
  usage.output = std::max<std::int64_t>(integer_of(*said, "output_tokens").value_or(0), 0);
  usage.total =
      std::max<std::int64_t>(integer_of(*said, "total_tokens").value_or(0), usage.input + usage.output);
  if (const Json* details = member(*said, "input_tokens_details"); details != nullptr && details->is_object())
    usage.input_details = *details;
  return usage;
}

bool take_image(Json& row, ImageReply& reply) {
  if (!row.is_object()) return false;
  Image image;
  image.url = text_of(row, "url");
  image.revised_prompt = text_of(row, "revised_prompt");
  if (const auto data = row.find("b64_json"); data != row.end() && data->is_string())
    image.b64_json = std::move(data->get_ref<std::string&>());
  if (!image.b64_json.empty()) image.url.clear();
  const bool good = !image.b64_json.empty() || !image.url.empty();
  if (good) reply.images.push_back(std::move(image));
  return good;
}

}  // namespace

// A server that makes one image in a call and streams it has one stream, whatever n is.
int openai_image_calls(const Target& target, const ImageRequest& request) {
  return target.preset->dialect == Dialect::kLocal && !request.stream ? request.n : 1;
}

WireRequest openai_image_request(const Target& target, const ImageRequest& request) {
  const std::string_view model = schemas::bare_model_name(target.model);
  WireRequest made;
  Json rest = request.rest;
  rest["model"] = target.model;
  rest["prompt"] = request.prompt;
  if (openai_image_calls(target, request) > 1) {
    made.dropped.push_back({"n", DroppedParam::How::kEmulated});
  } else if (request.n > 1) {
    rest["n"] = request.n;
  }
  if (!schemas::always_base64(model)) rest["response_format"] = "b64_json";
  if (is_dall_e(model) && request.word("quality") == "auto") rest.erase("quality");
  if (request.stream) rest["stream"] = true;
  if (request.stream && request.partial_images > 0) rest["partial_images"] = request.partial_images;
  leave_out(target, rest, made);
  tell_user(rest, made);
  made.path = "/images/generations";
  made.headers = {{"Content-Type", "application/json"}};
  made.body = schemas::dump(rest);
  return made;
}

base::Result<ImageReply> openai_image_reply(const Target& target, std::string_view body) {
  std::optional<Json> value = parse_wire(body);
  if (!value || !value->is_object()) return not_a_reply(target);
  if (auto error = said_instead(target, *value)) return *std::move(error);
  const auto data = value->find("data");
  if (data == value->end() || !data->is_array() || data->empty()) return not_a_reply(target);
  ImageReply reply;
  for (Json& row : *data) {
    if (!take_image(row, reply)) return not_a_reply(target);
  }
  reply.created = integer_of(*value, "created").value_or(0);
  reply.usage = usage_of(member(*value, "usage"));
  keep_unknown(*value, kImageMembers, reply.extra);
  return reply;
}

base::Result<std::optional<ImageEvent>> image_event(const Target& target, const net::SseEvent& event) {
  std::optional<ImageEvent> none;
  if (event.data == "[DONE]") return none;
  const std::optional<Json> value = parse_wire(event.data);
  if (!value || !value->is_object()) return not_a_reply(target);
  if (auto error = said_instead(target, *value)) return *std::move(error);
  const std::string_view type = text_of(*value, "type");
  const bool completed = type == "image_generation.completed";
  if (!completed && type != "image_generation.partial_image") return none;
  ImageEvent out;
  out.completed = completed;
  out.b64_json = text_of(*value, "b64_json");
  if (out.b64_json.empty()) return not_a_reply(target);
  out.partial_index = static_cast<int>(integer_of(*value, "partial_image_index").value_or(0) & 0xFF);
  out.created_at = integer_of(*value, "created_at").value_or(0);
  if (completed) out.usage = usage_of(member(*value, "usage"));
  out.size = text_of(*value, "size");
  out.quality = text_of(*value, "quality");
  out.background = text_of(*value, "background");
  out.output_format = text_of(*value, "output_format");
  return std::optional(std::move(out));
}

}  // namespace millrace::providers
