#include "ai/inference/routing/price.h"

#include <algorithm>
#include <array>
#include <utility>

#include "ai/inference/routing/routing.h"
#include "ai/providers/json_access.h"
#include "schemas/json/url_text.h"

namespace millrace::inference {
namespace {

constexpr double kPerMillion = 1e-6;
constexpr double kDollarsMax = 1e9;  // of one call: no budget is larger

std::int64_t content_tokens(const schemas::Json& content) {
  if (content.is_string()) return schemas::estimated_tokens(content.get_ref<const std::string&>());
  if (!content.is_array()) return 0;
  std::int64_t sum = 0;
  for (const schemas::Json& part : content) {
    const auto text = part.is_object() ? part.find("text") : part.end();
    const bool is_text = part.is_object() && text != part.end() && text->is_string();
    sum += is_text ? schemas::estimated_tokens(text->get_ref<const std::string&>()) : kPartTokens;
  }
  return sum;
}

std::int64_t messages_tokens(const schemas::Json& body) {
  std::int64_t sum = 0;
  const auto messages = body.find("messages");
  if (messages == body.end()) return sum;
  for (const schemas::Json& message : *messages) {
    if (message.is_object() && message.contains("content")) sum += content_tokens(message["content"]);
  }
  return sum;
}

std::int64_t text_tokens(const std::optional<std::string>& content, const std::string& reasoning) {
  return schemas::estimated_tokens(content.value_or("")) + schemas::estimated_tokens(reasoning);
}

}  // namespace

double cost_of(const Price& price, const schemas::ChatUsage& usage, const Units& units) {
  const auto part = [](const std::optional<std::int64_t>& tokens, std::int64_t whole) {
    return std::clamp<std::int64_t>(tokens.value_or(0), 0, whole);
  };
  const std::int64_t prompt = std::max<std::int64_t>(usage.prompt, 0);
  const std::int64_t completion = std::max<std::int64_t>(usage.completion, 0);
  const std::int64_t cached = part(usage.cached, prompt);
  const std::int64_t written = part(usage.cache_write, prompt - cached);
  const std::int64_t reasoning = part(usage.reasoning, completion);
  const auto cost = [](std::int64_t count, double each) { return static_cast<double>(count) * each; };
  const double tokens = cost(prompt - cached - written, price.prompt) +
                        cost(cached, price.cached.value_or(price.prompt)) +
                        cost(written, price.cache_write.value_or(price.prompt)) +
                        cost(completion - reasoning, price.completion) +
                        cost(reasoning, price.reasoning.value_or(price.completion));
  return tokens * kPerMillion + cost(units.images, price.image.value_or(0)) +
         cost(units.pages, price.page.value_or(0)) + cost(units.characters, price.character.value_or(0)) +
         units.audio_seconds * price.audio_second.value_or(0) + price.request.value_or(0);
}

std::optional<schemas::NanoUsd> certain_cost(const std::optional<Price>& price,
                                             const schemas::ChatUsage& usage, const Units& units) {
  if (!price || (usage.estimated && price->by_tokens())) return std::nullopt;
  return schemas::nano_usd(cost_of(*price, usage, units));
}

std::optional<Price> price_of(const ModelRow& row) {
  if (row.price) return row.price;
  const providers::Preset& preset = *row.target.preset;
  const bool is_ours = preset.family == providers::Family::kMock || !preset.key_required;
  return is_ours ? std::optional<Price>(Price()) : std::nullopt;
}

void widen(CostBound& bound, const ModelRow& row, std::optional<schemas::NanoUsd> max) {
  if (!max && bound.unpriced.empty()) bound.unpriced = row.target.name;
  bound.max = std::max(bound.max, max.value_or(0));
}

std::optional<std::int64_t> requested_output(const schemas::ChatRequest& request) {
  constexpr std::string_view kName = "max_completion_tokens";
  schemas::Json most;
  for (const schemas::ChatText::Member& member : request.quick.members) {
    if (member.name == kName) most = schemas::Json::parse(request.quick.value(member), nullptr, false);
  }
  if (const auto found = request.body.find(kName); found != request.body.end()) most = *found;
  if (most.is_number_unsigned())
    return static_cast<std::int64_t>(std::min<std::uint64_t>(most.get<std::uint64_t>(), INT64_MAX));
  return most.is_number_integer() ? std::optional(most.get<std::int64_t>()) : std::nullopt;
}

std::int64_t output_cap(const providers::Target& target, std::optional<std::int64_t> requested) {
  const std::int64_t bound = target.output_max.value_or(requested ? *requested : kOutputMax);
  return std::max<std::int64_t>(std::min(requested.value_or(bound), bound), 1);
}

namespace {

bool is_bounded(const providers::Target& target, const std::string& name, const schemas::Json& value) {
  constexpr std::array<std::string_view, 5> kTiers = {"auto", "default", "flex", "on_demand",
                                                      "standard_only"};
  if (name == "service_tier") return std::ranges::find(kTiers, providers::text_of(&value)) != kTiers.end();
  if (name == "search_parameters") return providers::text_of(value, "mode") == "off";
  if (name == "web_search_options" || name == "prediction") return false;
  return target.preset->family != providers::Family::kOpenai || providers::support(target, name);
}

}  // namespace

void drop_unbounded(const ModelRow& row, schemas::ChatRequest& request) {
  if (!request.body.is_object() || max_cost(row, request) == 0) return;
  std::vector<std::string> dropped;
  for (const auto& [name, value] : request.body.items())
    if (!is_bounded(row.target, name, value)) dropped.push_back(name);
  for (std::string& name : dropped) {
    request.body.erase(name);
    request.dropped.push_back({std::move(name), schemas::DroppedParam::How::kDropped});
  }
}

namespace {

constexpr std::int64_t kNumberBytes = 24;  // also of true, false and null

// The bytes of a tree as compact JSON without escapes; numbers count with their most.
std::int64_t json_bytes(const schemas::Json& tree) {
  if (const auto* text = tree.get_ptr<const std::string*>())
    return static_cast<std::int64_t>(text->size()) + 2;
  if (!tree.is_structured()) return kNumberBytes;
  if (tree.empty()) return 2;
  std::int64_t bytes = 1;
  if (tree.is_array())
    for (const schemas::Json& each : tree) bytes += json_bytes(each) + 1;
  if (tree.is_object())
    for (const auto& [name, each] : tree.items())
      bytes += static_cast<std::int64_t>(name.size()) + 4 + json_bytes(each);
  return bytes;
}

// How many more tokens a part of a message may have than bytes.
std::int64_t excess_of(const schemas::Json& part) {
  if (!part.is_object()) return 0;
  const std::string type = part.value("type", "");
  if (type == "file" || type == "audio_url" || type == "video_url") return kContextTokensMax;
  if (type != "image_url") return 0;
  const auto* image = providers::member(part, "image_url");
  const auto* url = image == nullptr ? nullptr : providers::member(*image, "url");
  const bool is_data = url != nullptr && schemas::has_scheme(providers::text_of(url), "data:");
  return kImageTokensMax - (is_data ? json_bytes(*url) : 0);
}

std::int64_t excess_of_parts(const schemas::Json& body) {
  std::int64_t excess = 0;
  const auto messages = body.find("messages");
  if (messages == body.end() || !messages->is_array()) return excess;
  for (const schemas::Json& message : *messages) {
    if (const auto pictures = message.find(schemas::kPicturesMember); pictures != message.end()) {
      for (const auto& picture : *pictures) excess += kImageTokensMax - json_bytes(picture);
    }
    const auto content = message.find("content");
    if (content == message.end() || !content->is_array()) continue;
    for (const schemas::Json& part : *content) excess += excess_of(part);
  }
  return excess;
}

}  // namespace

std::int64_t prompt_max(const schemas::ChatRequest& request) {
  if (!request.quick.empty()) return static_cast<std::int64_t>(request.quick.text.size()) + kAddedTokensMax;
  std::int64_t bytes = 0;
  for (const auto& [name, value] : request.body.items()) {
    const bool is_text = value.is_string() || value.is_structured();  // others set how the model answers
    bytes += is_text ? static_cast<std::int64_t>(name.size()) + 4 + json_bytes(value) : 0;
  }
  return bytes + excess_of_parts(request.body) + kAddedTokensMax;
}

namespace {

std::int64_t times(std::int64_t tokens, int choices) {
  return tokens > INT64_MAX / choices ? INT64_MAX : tokens * choices;
}

}  // namespace

std::optional<schemas::NanoUsd> max_cost(const ModelRow& row, const schemas::ChatRequest& request) {
  const std::optional<Price> price = price_of(row);
  if (!price) return std::nullopt;
  if (!price->by_tokens() && price->request.value_or(0) == 0) return 0;
  const int choices = fans_out(row.target, request) ? 1 : std::max(request.n, 1);
  schemas::ChatUsage most;
  if (price->by_tokens())
    most.prompt = times(std::min(prompt_max(request), row.target.input_max.value_or(INT64_MAX)), choices);
  most.completion = times(output_cap(row.target, requested_output(request)), choices);
  return max_cost(row, most, {});
}

std::optional<schemas::NanoUsd> max_cost(const ModelRow& row, const schemas::ChatUsage& usage,
                                         const Units& units) {
  std::optional<Price> price = price_of(row);
  if (!price) return std::nullopt;
  price->prompt = std::max({price->prompt, price->cached.value_or(0), price->cache_write.value_or(0)});
  price->completion = std::max(price->completion, price->reasoning.value_or(0));
  price->cached = price->cache_write = price->reasoning = std::nullopt;
  return schemas::nano_usd(std::min(cost_of(*price, usage, units), kDollarsMax));
}

std::int64_t estimated_prompt(const schemas::ChatRequest& request) {
  if (request.quick.empty()) return messages_tokens(request.body);
  return schemas::estimated_tokens(request.quick);
}

std::int64_t expected_tokens(const schemas::ChatRequest& request, const providers::Target& target) {
  const std::int64_t output = requested_output(request).value_or(0);
  return estimated_prompt(request) + std::min(output, target.output_max.value_or(kOutputMax));
}

schemas::ChatUsage estimated_usage(std::int64_t prompt_tokens, std::int64_t completion_tokens) {
  schemas::ChatUsage usage;
  usage.prompt = prompt_tokens;
  usage.completion = completion_tokens;
  usage.total = usage.prompt + usage.completion;
  usage.estimated = true;
  return usage;
}

schemas::ChatUsage failed_usage(const std::optional<schemas::ChatUsage>& reported,
                                const schemas::ChatUsage& estimated, bool stream) {
  if (!reported) return estimated;
  schemas::ChatUsage usage = *reported;
  if (!stream) return usage;
  const std::int64_t unreported = std::max<std::int64_t>(estimated.completion - usage.completion, 0);
  usage.completion += unreported;
  usage.total += unreported;
  usage.estimated = true;
  return usage;
}

std::int64_t estimated_completion(const schemas::ChatPiece& piece) {
  std::int64_t sum = text_tokens(piece.content, piece.reasoning);
  for (const schemas::ToolCallPiece& call : piece.tool_calls)
    sum += schemas::estimated_tokens(call.name) + schemas::estimated_tokens(call.arguments);
  return sum;
}

std::int64_t estimated_completion(const schemas::ChatReply& reply) {
  std::int64_t sum = 0;
  for (const schemas::ChatChoice& choice : reply.choices) {
    sum += text_tokens(choice.content, choice.reasoning);
    for (const schemas::ToolCall& call : choice.tool_calls)
      sum += schemas::estimated_tokens(call.name) + schemas::estimated_tokens(call.arguments);
  }
  return sum;
}

}  // namespace millrace::inference
