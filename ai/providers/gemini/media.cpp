#include "ai/providers/gemini/media.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "ai/providers/gemini/candidate.h"
#include "ai/providers/gemini/model.h"
#include "ai/providers/gemini/request.h"
#include "ai/providers/media.h"
#include "ai/providers/upstream_error.h"
#include "ai/providers/wire_text.h"
#include "schemas/json/json_body.h"

namespace millrace::providers {

using schemas::DroppedParam;
using schemas::EmbeddingReply;

WireRequest gemini_embedding_request(const Target& target, const EmbeddingPart& part) {
  const schemas::EmbeddingRequest& request = part.request;
  const std::string model = gemini_model_path(target.model);
  Json requests = Json::array();
  for (std::size_t i = part.first; i < part.first + part.count; ++i) {
    Json one = {{"model", model}, {"content", {{"parts", {{{"text", request.texts[i]}}}}}}};
    if (request.dimensions) one["outputDimensionality"] = *request.dimensions;
    requests.push_back(std::move(one));
  }
  WireRequest made;
  made.path = versioned_path(target.base_url, "/v1beta", "/" + model + ":batchEmbedContents");
  made.headers = {{"Content-Type", "application/json"}};
  made.body = schemas::dump(Json{{"requests", std::move(requests)}});
  if (!request.user.empty()) made.dropped.push_back({"user", DroppedParam::How::kDropped});
  for (const auto& [name, ignored] : request.extra.items())
    made.dropped.push_back({name, DroppedParam::How::kDropped});
  return made;
}

base::Result<EmbeddingReply> gemini_embedding_reply(const Target& target, std::string_view body,
                                                    std::size_t inputs) {
  std::optional<ReadVectors> read = read_vectors(body, "values");
  if (!read) return unreadable(target, body);
  if (const Json* error = gemini_error_of(read->rest); error != nullptr) return gemini_error(target, *error);
  const bool each_has_one =
      read->vectors.size() == inputs && std::none_of(read->vectors.begin(), read->vectors.end(),
                                                     [](const schemas::Vector& one) { return one.empty(); });
  if (!each_has_one) return content_fault(target, "did not send one vector for each input");
  EmbeddingReply reply;
  reply.vectors = std::move(read->vectors);
  const Json* usage = member(read->rest, "usageMetadata");
  reply.prompt_tokens = std::max<std::int64_t>(integer_of(member(usage, "promptTokenCount")).value_or(0), 0);
  reply.total_tokens = reply.prompt_tokens;
  return reply;
}

namespace {

constexpr int kImageSideMax = 16'384;
constexpr int kKilo = 1'024;  // side length in pixels of the size 1K

struct Shape {
  std::string_view name;
  double ratio;
};
constexpr std::array kGeminiShapes{
    Shape{"1:1", 1.0},       Shape{"2:3", 2.0 / 3},   Shape{"3:2", 3.0 / 2}, Shape{"3:4", 3.0 / 4},
    Shape{"4:3", 4.0 / 3},   Shape{"4:5", 4.0 / 5},   Shape{"5:4", 5.0 / 4}, Shape{"9:16", 9.0 / 16},
    Shape{"16:9", 16.0 / 9}, Shape{"21:9", 21.0 / 9},
};
constexpr std::array kImagenShapes{
    Shape{"1:1", 1.0},       Shape{"3:4", 3.0 / 4},   Shape{"4:3", 4.0 / 3},
    Shape{"9:16", 9.0 / 16}, Shape{"16:9", 16.0 / 9},
};

struct Pixels {
  int width = 0, height = 0;
};

std::optional<Pixels> pixels_of(std::string_view text) {
  Pixels size;
  const char* const end = text.data() + text.size();
  const auto width = std::from_chars(text.data(), end, size.width);
  if (width.ec != std::errc{} || width.ptr == end || *width.ptr != 'x') return std::nullopt;
  const auto height = std::from_chars(width.ptr + 1, end, size.height);
  const auto good = [](int side) { return side > 0 && side <= kImageSideMax; };
  if (height.ec != std::errc{} || height.ptr != end || !good(size.width) || !good(size.height))
    return std::nullopt;
  return size;
}

std::string_view nearest_shape(std::span<const Shape> shapes, double ratio) {
  std::string_view best;
  double least = std::numeric_limits<double>::max();
  for (const Shape& shape : shapes) {
    const double off = std::abs(std::log(shape.ratio / ratio));
    if (off < least) best = shape.name;
    least = std::min(off, least);
  }
  return best;
}

// 1, 2 or 4: the size with the nearest area. Each has four times the area of the one before.
int thousands_of(const Pixels& size) {
  const double area = static_cast<double>(size.width) * size.height / (1.0 * kKilo * kKilo);
  if (area < 2) return 1;
  return area < 8 ? 2 : 4;
}

std::string_view size_word(int thousands) {
  if (thousands == 1) return "1K";
  return thousands == 2 ? "2K" : "4K";
}

}  // namespace

GeminiImageModel gemini_image_model(std::string_view name) {
  GeminiImageModel model;
  model.is_imagen = name.find("imagen-") != std::string_view::npos;
  if (model.is_imagen) {
    const bool is_fast = name.find("-fast") != std::string_view::npos;
    model.size_max = name.find("imagen-4") != std::string_view::npos && !is_fast ? 2 : 1;
    return model;
  }
  const GeminiModel version = gemini_model(name);
  const bool is_early = version.major == 2 && version.minor < 5;
  model.has_shapes = !is_early;
  model.also_writes = is_early;
  model.size_max = version.major >= 3 ? 4 : 1;
  return model;
}

std::optional<GeminiImageSize> gemini_image_size(const GeminiImageModel& model, std::string_view size) {
  const auto requested = pixels_of(size);
  if (!requested || !model.has_shapes) return std::nullopt;
  const std::span<const Shape> shapes =
      model.is_imagen ? std::span<const Shape>(kImagenShapes) : std::span<const Shape>(kGeminiShapes);
  const int thousands = std::min(thousands_of(*requested), model.size_max);
  GeminiImageSize size_parameters;
  size_parameters.aspect_ratio = nearest_shape(shapes, 1.0 * requested->width / requested->height);
  if (model.size_max > 1) size_parameters.image_size = size_word(thousands);
  size_parameters.is_exact = requested->width == requested->height && requested->width == thousands * kKilo;
  return size_parameters;
}

namespace {

using How = schemas::DroppedParam::How;
using schemas::Image;
using schemas::ImageReply;
using schemas::ImageRequest;

bool is_word(const Json& value, std::string_view word) { return text_of(&value) == word; }

// Translates the options of a request for one kind of model. Unsupported options are reported.
class ImageParameters {
 public:
  ImageParameters(const GeminiImageModel& model, const ImageRequest& request, int calls)
      : model_(model), request_(request) {
    if (calls > 1) report("n", How::kEmulated);
    if (request.stream) report("stream", How::kEmulated);
    if (request.partial_images > 0) report("partial_images", How::kDropped);
    for (const auto& [name, value] : request.rest.items()) {
      if (!write_parameter(name, value)) report(name, How::kDropped);
    }
  }
  Json image_config = Json::object();    // of :generateContent
  Json output_options = Json::object();  // of :predict
  schemas::DroppedParams dropped;

 private:
  void report(const std::string& name, How how) { dropped.push_back({name, how}); }

  // "auto" leaves the choice to the model, so nothing is sent.
  bool write_parameter(const std::string& name, const Json& value) {
    if (name != "user" && is_word(value, "auto")) return true;
    if (name == "size") return write_size(text_of(&value));
    if (!model_.is_imagen) return false;
    if (name == "output_format") return write_format(text_of(&value));
    if (name != "output_compression" || request_.word("output_format") != "jpeg") return false;
    output_options["compressionQuality"] = value;
    return true;
  }

  bool write_size(std::string_view size) {
    const auto supported = gemini_image_size(model_, size);
    if (!supported) return false;
    image_config["aspectRatio"] = supported->aspect_ratio;
    if (!supported->image_size.empty())
      image_config[model_.is_imagen ? "sampleImageSize" : "imageSize"] = supported->image_size;
    if (!supported->is_exact) report("size", How::kClamped);
    return true;
  }

  bool write_format(std::string_view format) {
    if (format != "png" && format != "jpeg") return false;
    output_options["mimeType"] = std::string("image/").append(format);
    return true;
  }

  const GeminiImageModel& model_;
  const ImageRequest& request_;
};

Json requested_content(const GeminiImageModel& model, const ImageRequest& request,
                       ImageParameters& image_parameters) {
  Json config = {{"responseModalities", {"IMAGE"}}};
  if (model.also_writes) config["responseModalities"] = {"TEXT", "IMAGE"};
  if (!image_parameters.image_config.empty())
    config["imageConfig"] = std::move(image_parameters.image_config);
  Json turn = {{"role", "user"}, {"parts", Json::array({{{"text", request.prompt}}})}};
  return {{"contents", Json::array({std::move(turn)})}, {"generationConfig", std::move(config)}};
}

Json requested_prediction(const ImageRequest& request, int call, ImageParameters& image_parameters) {
  Json parameters = std::move(image_parameters.image_config);
  parameters["sampleCount"] = std::min(request.n - call * kImagenSamplesMax, kImagenSamplesMax);
  parameters["includeRaiReason"] = true;
  if (!image_parameters.output_options.empty())
    parameters["outputOptions"] = std::move(image_parameters.output_options);
  return {{"instances", Json::array({{{"prompt", request.prompt}}})}, {"parameters", std::move(parameters)}};
}

std::string failure_text(const Target& target, std::string_view what, std::string_view reason,
                         std::string_view words) {
  std::string message(shown_name(target));
  message.append(what);
  if (!reason.empty()) message.append(" (").append(upstream_text(reason)).append(")");
  if (!words.empty()) message.append(": ").append(upstream_text(words));
  return message;
}

base::Error refused(const Target& target, std::string_view reason, std::string_view words) {
  return base::error(base::Code::kBadRequest,
                     failure_text(target, " refused to create this image", reason, words), "prompt");
}

base::Error no_image(const Target& target, std::string_view reason, std::string_view words) {
  base::Error error =
      base::error(base::Code::kUpstream, failure_text(target, " answered without an image", reason, words));
  error.is_content_fault = true;
  return error;
}

void keep_format(std::string_view mime, ImageReply& reply) {
  constexpr std::string_view kImage = "image/";
  if (mime.starts_with(kImage)) reply.extra = {{"output_format", mime.substr(kImage.size())}};
}

bool take_image(Json& holder, const char* data, ImageReply& reply) {
  const auto found = holder.find(data);
  if (found == holder.end() || !found->is_string() || found->get_ref<const std::string&>().empty())
    return false;
  Image image;
  image.b64_json = std::move(found->get_ref<std::string&>());
  reply.images.push_back(std::move(image));
  keep_format(text_of(holder, "mimeType"), reply);
  return true;
}

// Bounds a count from an upstream, so that sums cannot overflow and JSON readers keep it exact.
std::int64_t reported_count(std::int64_t count) {
  constexpr std::int64_t kCountMax = std::int64_t{1} << 53;
  return std::clamp<std::int64_t>(count, 0, kCountMax);
}

void json_count(Json& sum, std::int64_t count) {
  sum = reported_count(sum.get<std::int64_t>() + reported_count(count));
}

std::optional<schemas::ImageUsage> drawn_usage(const Json* node) {
  const auto counted = gemini_usage(node);
  if (!counted) return std::nullopt;
  schemas::ImageUsage usage{reported_count(counted->prompt), reported_count(counted->completion),
                            reported_count(counted->total), nullptr};
  const Json* details = member(node, "promptTokensDetails");
  if (details == nullptr || !details->is_array()) return usage;
  usage.input_details = {{"text_tokens", 0}, {"image_tokens", 0}};
  for (const Json& each : *details) {
    json_count(usage.input_details[text_of(each, "modality") == "IMAGE" ? "image_tokens" : "text_tokens"],
               integer_of(each, "tokenCount").value_or(0));
  }
  return usage;
}

// Images that the model creates while it thinks are not part of the answer.
Json* drawn_part(Json& candidate) {
  const auto content = candidate.is_object() ? candidate.find("content") : candidate.end();
  if (content == candidate.end() || !content->is_object()) return nullptr;
  const auto parts = content->find("parts");
  if (parts == content->end() || !parts->is_array()) return nullptr;
  for (Json& part : *parts) {
    if (member(part, "inlineData") != nullptr && !is_true(member(part, "thought")))
      return &part["inlineData"];
  }
  return nullptr;
}

std::string_view words_of(const Json& candidate) {
  if (const std::string_view why = text_of(candidate, "finishMessage"); !why.empty()) return why;
  const Json* parts = member(member(candidate, "content"), "parts");
  if (parts == nullptr || !parts->is_array()) return {};
  for (const Json& part : *parts) {
    if (const std::string_view text = text_of(part, "text");
        !text.empty() && !is_true(member(part, "thought")))
      return text;
  }
  return {};
}

base::Result<ImageReply> content_reply(const Target& target, Json& answer) {
  const Json* feedback = member(answer, "promptFeedback");
  if (member(feedback, "blockReason") != nullptr)
    return refused(target, text_of(*feedback, "blockReason"), text_of(*feedback, "blockReasonMessage"));
  const auto candidates = answer.find("candidates");
  if (candidates == answer.end() || !candidates->is_array() || candidates->empty())
    return no_image(target, {}, {});
  Json& candidate = candidates->front();
  ImageReply reply;
  if (Json* drawn = drawn_part(candidate); drawn == nullptr || !take_image(*drawn, "data", reply)) {
    const std::string_view reason = text_of(candidate, "finishReason");
    const bool is_refusal = gemini_filters(reason);
    return is_refusal ? refused(target, reason, words_of(candidate))
                      : no_image(target, reason, words_of(candidate));
  }
  reply.usage = drawn_usage(member(answer, "usageMetadata"));
  return reply;
}

base::Result<ImageReply> prediction_reply(const Target& target, Json& answer) {
  ImageReply reply;
  std::string why;
  if (const auto predictions = answer.find("predictions");
      predictions != answer.end() && predictions->is_array()) {
    for (Json& each : *predictions) {
      if (!each.is_object()) return not_a_reply(target);
      if (why.empty()) why = text_of(each, "raiFilteredReason");
      if (take_image(each, "bytesBase64Encoded", reply))
        reply.images.back().revised_prompt = text_of(each, "prompt");
    }
  }
  if (!reply.images.empty()) return reply;
  return why.empty() ? no_image(target, {}, {}) : refused(target, {}, why);
}

}  // namespace

int gemini_image_calls(const Target& target, const ImageRequest& request) {
  if (!gemini_image_model(target.model).is_imagen) return request.n;
  return (request.n + kImagenSamplesMax - 1) / kImagenSamplesMax;
}

WireRequest gemini_image_request(const Target& target, const ImageRequest& request, int call) {
  const GeminiImageModel model = gemini_image_model(target.model);
  ImageParameters image_parameters(model, request, gemini_image_calls(target, request));
  const Json json_body = model.is_imagen ? requested_prediction(request, call, image_parameters)
                                         : requested_content(model, request, image_parameters);
  WireRequest made;
  made.path = versioned_path(
      target.base_url, "/v1beta",
      "/" + gemini_model_path(target.model) + (model.is_imagen ? ":predict" : ":generateContent"));
  made.headers = {{"Content-Type", "application/json"}};
  made.body = schemas::dump(json_body);
  made.dropped = std::move(image_parameters.dropped);
  return made;
}

base::Result<ImageReply> gemini_image_reply(const Target& target, std::string_view body) {
  std::optional<Json> answer = parse_wire(body);
  if (!answer) return unreadable(target, body);
  if (const Json* error = gemini_error_of(*answer)) return gemini_error(target, *error);
  if (!answer->is_object()) return not_a_reply(target);
  return gemini_image_model(target.model).is_imagen ? prediction_reply(target, *answer)
                                                    : content_reply(target, *answer);
}

}  // namespace millrace::providers
