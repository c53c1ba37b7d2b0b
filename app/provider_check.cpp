#include "app/provider_check.h"

#include <algorithm>
#include <chrono>

#include "ai/providers/model_list.h"
#include "platform/net/http_client.h"
#include "platform/net/loop.h"

namespace millrace::app {
namespace {

constexpr std::chrono::milliseconds kConnect{2'000}, kTotal{5'000};

// Each server once, those of `providers` and of the environment first.
std::vector<const providers::Target*> servers(const inference::ModelSettings& models) {
  std::vector<const providers::Target*> out;
  const auto add = [&](const providers::Target& target) {
    const auto same = [&](const providers::Target* other) {
      return other->base_url == target.base_url && other->preset == target.preset;
    };
    if (target.preset->family != providers::Family::kMock && std::ranges::none_of(out, same))
      out.push_back(&target);
  };
  for (const providers::Target& target : models.open_providers) add(target);
  for (const inference::ModelRow& row : models.models) add(row.target);
  return out;
}

base::Result<std::size_t> count_models(net::HttpClient& client, const providers::Target& target) {
  net::HttpRequest request = providers::model_list_request(target);
  request.connect_timeout = kConnect;
  request.total_timeout = kTotal;
  auto reply = client.fetch_blocking(std::move(request));
  if (!reply) return reply.error();
  if (reply->status != 200)
    return providers::upstream_error(target, reply->status, reply->headers, reply->body);
  const auto list = providers::read_model_list(target, reply->body);
  if (!list) return list.error();
  return list->size();
}

std::string place(const providers::Target& target) {
  return std::string(target.preset->name) + " at " + target.base_url + ": ";
}

ProviderFinding check(net::HttpClient& client, const providers::Target& target) {
  const auto count = count_models(client, target);
  if (count) return {place(target) + std::to_string(*count) + " models", {}};
  return {place(target) + count.error().message, "Correct its api_key or base_url, or the way there."};
}

}  // namespace

std::vector<ProviderFinding> check_providers(const inference::ModelSettings& models) {
  net::Loop loop("doctor");
  net::HttpClient client(loop);
  std::vector<ProviderFinding> out;
  const auto named = servers(models);
  out.reserve(named.size() + 1);
  for (const providers::Target* target : named) out.push_back(check(client, *target));
  providers::Target ollama;
  ollama.preset = providers::preset_named("ollama");
  ollama.base_url = ollama.preset->base_url;
  const bool known = std::ranges::any_of(
      named, [&](const providers::Target* target) { return target->base_url == ollama.base_url; });
  const auto count = known ? base::Result<std::size_t>(0) : count_models(client, ollama);
  if (!known && count) {
    out.push_back({place(ollama) + std::to_string(*count) + " models, not configured",
                   "`providers: {ollama: {}}` in the configuration makes them ollama/NAME."});
  }
  return out;
}

}  // namespace millrace::app
