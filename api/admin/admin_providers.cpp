#include "ai/inference/chat/chat.h"
#include "api/admin/admin_text.h"
#include "api/call.h"
#include "api/handlers.h"
#include "schemas/json/json_text.h"

namespace millrace::api {

namespace {

using schemas::JsonObject;

std::string_view circuit_name(inference::BreakerState state) {
  switch (state) {
    case inference::BreakerState::kClosed:
      return "closed";
    case inference::BreakerState::kHalfOpen:
      return "half_open";
    case inference::BreakerState::kOpen:
      return "open";
  }
  return "closed";
}

std::string_view work_name(inference::Work work) {
  switch (work) {
    case inference::Work::kChat:
      return "chat";
    case inference::Work::kEmbeddings:
      return "embeddings";
    case inference::Work::kImages:
      return "images";
    case inference::Work::kSpeech:
      return "speech";
    case inference::Work::kTranscription:
      return "transcription";
    case inference::Work::kOcr:
      return "ocr";
  }
  return "chat";
}

std::string price_json(const inference::Price& price) {
  JsonObject out;
  out.raw("prompt", std::to_string(price.prompt)).raw("completion", std::to_string(price.completion));
  for (const inference::PricePart& part : inference::kPriceParts) {
    if (const auto& value = price.*part.value) out.raw(part.name, nlohmann::json(*value).dump());
  }
  return out.finish();
}

std::optional<inference::Price> price_of(const inference::Registry& registry, const std::string& model) {
  const auto found = registry.find(model);
  return found ? (*found)->rows.front().price : std::nullopt;
}

std::string target_json(const inference::TargetHealth& target, const inference::Registry& registry) {
  JsonObject out;
  out.member("model", target.model)
      .member("provider", target.provider)
      .member("upstream_model", target.upstream_model)
      .member("circuit", circuit_name(target.breaker))
      .member("circuit_of", work_name(target.work))
      .number("failures_in_a_row", target.failures_in_a_row)
      .number("running", target.running)
      .number("waiting", target.waiting);
  if (target.time_to_probe.count() > 0) out.raw("opens_again_seconds", seconds_text(target.time_to_probe));
  if (target.latency.count() > 0) out.raw("latency_seconds", seconds_text(target.latency));
  if (const auto price = price_of(registry, target.model)) out.raw("price", price_json(*price));
  return out.finish();
}

}  // namespace

void admin_providers(Context& context, CallPtr call) {
  const inference::RegistryPtr registry = context.chat.registry();
  JsonItems items;
  for (const inference::TargetHealth& target : context.chat.health())
    items.add(target_json(target, *registry));
  JsonItems servers;
  for (const inference::McpSlug& server : registry->settings().mcp_slugs)
    servers.add(JsonObject()
                    .member("slug", server.slug)
                    .finish());  // only the slug: other members may contain secrets
  call->reply(json_reply(
      200, JsonObject().raw("items", items.finish()).raw("mcp_servers", servers.finish()).finish()));
}

}  // namespace millrace::api
