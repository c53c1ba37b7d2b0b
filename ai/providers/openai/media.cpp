#include "ai/providers/openai/media.h"

#include <algorithm>
#include <array>
#include <utility>

#include "ai/providers/json_access.h"
#include "ai/providers/media.h"
#include "ai/providers/openai/reply.h"
#include "ai/providers/openai/stream.h"
#include "ai/providers/upstream_error.h"
#include "ai/providers/wire_text.h"
#include "schemas/json/json_body.h"
#include "schemas/json/json_text.h"

namespace millrace::providers {
namespace {

using schemas::DroppedParam;
using schemas::EmbeddingRequest;

template <class Item, class Append>
void append_list(std::string& out, const std::vector<Item>& items, std::size_t first, std::size_t count,
                 const Append& append) {
  out += '[';
  for (std::size_t i = first; i < first + count; ++i) {
    if (i > first) out += ',';
    append(out, items[i]);
  }
  out += ']';
}

void append_token(std::string& out, std::int32_t token) { out += std::to_string(token); }

// Writes a list even for one input, because every upstream accepts a list.
std::string inputs_of(const EmbeddingPart& part) {
  std::string out;
  if (!part.request.texts.empty()) {
    append_list(out, part.request.texts, part.first, part.count, schemas::append_json_string);
  } else {
    append_list(out, part.request.tokens, part.first, part.count,
                [](std::string& to, const std::vector<std::int32_t>& tokens) {
                  append_list(to, tokens, 0, tokens.size(), append_token);
                });
  }
  return out;
}

bool is_mistral(const Target& target) { return target.preset->dialect == Dialect::kMistral; }

void write_user(const Target& target, const EmbeddingRequest& request, WireRequest& made, Json& rest) {
  if (request.user.empty()) return;
  const std::string_view user_name = first_characters(request.user, kUserCharactersMax);
  switch (support(target, "user").value_or(Support::kDropped)) {
    case Support::kNative:
    case Support::kClamped:
      rest["user"] = user_name;
      if (user_name.size() < request.user.size())
        made.dropped.push_back({"user", DroppedParam::How::kClamped});
      break;
    case Support::kEmulated:
    case Support::kDropped:
      made.dropped.push_back({"user", DroppedParam::How::kDropped});
      break;
  }
}

// One vector per row, ordered by the `index` of the rows.
std::optional<std::vector<schemas::Vector>> rows_of(Json& data, std::vector<schemas::Vector>& read) {
  std::vector<schemas::Vector> out(data.size());
  std::size_t next = 0;
  for (std::size_t place = 0; place < data.size(); ++place) {
    const Json* embedding = member(data[place], "embedding");
    const auto index = integer_of(data[place], "index").value_or(static_cast<std::int64_t>(place));
    if (embedding == nullptr || index < 0 || index >= static_cast<std::int64_t>(out.size()))
      return std::nullopt;
    schemas::Vector& vector = out[static_cast<std::size_t>(index)];
    if (!vector.empty()) return std::nullopt;
    if (embedding->is_string()) {
      auto unpacked = schemas::unpacked_vector(embedding->get_ref<const std::string&>());
      if (!unpacked) return std::nullopt;
      vector = *std::move(unpacked);
    } else if (embedding->is_array() && next < read.size()) {
      vector = std::move(read[next++]);
    }
    if (vector.empty()) return std::nullopt;
  }
  return out;
}

}  // namespace

WireRequest openai_embedding_request(const Target& target, const EmbeddingPart& part) {
  const EmbeddingRequest& request = part.request;
  WireRequest made;
  Json rest = request.extra;
  rest["model"] = target.model;
  if (request.dimensions) rest[is_mistral(target) ? "output_dimension" : "dimensions"] = *request.dimensions;
  if (target.preset->dialect == Dialect::kOpenai) rest["encoding_format"] = "base64";
  write_user(target, request, made, rest);
  made.path = "/embeddings";
  made.headers = {{"Content-Type", "application/json"}};
  made.body = schemas::dump(rest);
  made.body.pop_back();
  made.body.append(",\"input\":").append(inputs_of(part)).append("}");
  return made;
}

base::Result<schemas::EmbeddingReply> openai_embedding_reply(const Target& target, std::string_view body,
                                                             std::size_t inputs) {
  std::optional<ReadVectors> read = read_vectors(body, "embedding");
  if (!read) return unreadable(target, body);
  if (auto error = reported_instead(target, read->rest)) return *std::move(error);
  const auto data = read->rest.find("data");
  if (data == read->rest.end() || !data->is_array()) return not_a_reply(target);
  if (data->size() != inputs) return content_fault(target, "did not send one vector for each input");
  auto vectors = rows_of(*data, read->vectors);
  if (!vectors) return content_fault(target, "did not send one vector for each input");
  schemas::EmbeddingReply reply;
  reply.id = text_of(read->rest, "id");
  reply.model = text_of(read->rest, "model");
  reply.vectors = *std::move(vectors);
  if (const Json* node = member(read->rest, "usage"); node != nullptr) {
    const auto usage = openai_usage(*node);
    reply.prompt_tokens = usage ? usage->prompt : 0;
    reply.total_tokens = usage ? usage->total : 0;
  }
  return reply;
}

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

void write_user(Json& rest, WireRequest& made) {
  const auto user = rest.find("user");
  if (user == rest.end() || !user->is_string()) return;
  const std::string whole = user->get<std::string>();
  const std::string_view user_name = first_characters(whole, kUserCharactersMax);
  if (user_name.size() == whole.size()) return;
  *user = user_name;
  made.dropped.push_back({"user", DroppedParam::How::kClamped});
}

void leave_out(const Target& target, Json& rest, WireRequest& made) {
  if (target.preset->dialect != Dialect::kXai) return;
  for (const std::string_view name : kNotXai) {
    if (rest.erase(std::string(name)) > 0)
      made.dropped.push_back({std::string(name), DroppedParam::How::kDropped});
  }
}

std::optional<ImageUsage> usage_of(const Json* node) {
  if (node == nullptr || !node->is_object()) return std::nullopt;
  ImageUsage usage;
  usage.input = std::max<std::int64_t>(integer_of(*node, "input_tokens").value_or(0), 0);
  usage.output = std::max<std::int64_t>(integer_of(*node, "output_tokens").value_or(0), 0);
  usage.total =
      std::max<std::int64_t>(integer_of(*node, "total_tokens").value_or(0), usage.input + usage.output);
  if (const Json* details = member(*node, "input_tokens_details"); details != nullptr && details->is_object())
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

// Local servers create one image per call. A streamed request is always one call, whatever n is.
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
  write_user(rest, made);
  made.path = "/images/generations";
  made.headers = {{"Content-Type", "application/json"}};
  made.body = schemas::dump(rest);
  return made;
}

base::Result<ImageReply> openai_image_reply(const Target& target, std::string_view body) {
  std::optional<Json> value = parse_wire(body);
  if (!value) return unreadable(target, body);
  if (!value->is_object()) return not_a_reply(target);
  if (auto error = reported_instead(target, *value)) return *std::move(error);
  const auto data = value->find("data");
  if (data == value->end() || !data->is_array()) return not_a_reply(target);
  if (data->empty()) return content_fault(target, "answered without an image");
  ImageReply reply;
  for (Json& row : *data) {
    if (!take_image(row, reply)) return content_fault(target, "answered with an image that has no data");
  }
  reply.created = integer_of(*value, "created").value_or(0);
  reply.usage = usage_of(member(*value, "usage"));
  keep_unknown(*value, kImageMembers, reply.extra);
  return reply;
}

base::Result<std::optional<ImageEvent>> image_event(const Target& target, const net::SseEvent& event) {
  std::optional<ImageEvent> none;
  if (is_end_marker(event.data)) return none;
  const std::optional<Json> value = parse_wire(event.data);
  if (!value) return unreadable(target, event.data);
  if (!value->is_object()) return not_a_reply(target);
  if (auto error = reported_instead(target, *value)) return *std::move(error);
  const std::string_view type = text_of(*value, "type");
  const bool completed = type == "image_generation.completed";
  if (!completed && type != "image_generation.partial_image") return none;
  ImageEvent out;
  out.completed = completed;
  out.b64_json = text_of(*value, "b64_json");
  if (out.b64_json.empty()) return content_fault(target, "answered with an image that has no data");
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
