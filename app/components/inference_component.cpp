#include "app/components/inference_component.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "ai/inference/mcp/client.h"
#include "platform/base/log.h"
#include "platform/net/fetch_guard.h"
#include "platform/net/http/http_client.h"

namespace millrace::app {
namespace {

template <class T>
void keep_part(T& limit, int processes) {
  if (limit > 0) limit = std::max<T>(1, limit / processes);
}

inference::RegistryPtr registry_of(inference::ModelSettings models, int processes) {
  for (inference::ModelRow& row : models.models) {
    keep_part(row.limits.concurrent, processes);
    keep_part(row.limits.requests_per_minute, processes);
    keep_part(row.limits.tokens_per_minute, processes);
  }
  return std::make_shared<const inference::Registry>(std::move(models));
}

inference::ChatOptions chat_options(const Settings& settings) {
  inference::ChatOptions options;
  options.tries_max = settings.chat_tries;
  options.retry_after_max = settings.chat_retry_after_max;
  return options;
}

}  // namespace

// Members are built in declaration order.
struct InferenceComponent::Impl {
  Impl(const Settings& settings, net::Loop& on, base::Pool& pool, base::Metrics& metrics,
       inference::LocalSpeech speech)
      : loop(on),
        guard(settings.fetch_allow_hosts),
        client(loop),
        mcp_cache({.keep = settings.chat_tool_list_age}),
        chat({loop, client, guard, pool, metrics,
              [this](inference::McpEndpoint endpoint) {
                const inference::McpClient::Dependencies dependencies{loop, client, guard, mcp_cache};
                return std::make_unique<inference::McpClient>(dependencies, std::move(endpoint));
              },
              std::move(speech)},
             registry_of(settings.models, 1), chat_options(settings)),
        model_lists({loop, client, pool}, settings.models, {.keep = settings.chat_model_list_age}),
        models(settings.models) {}

  net::Loop& loop;
  net::FetchGuard guard;
  net::HttpClient client;
  inference::McpCache mcp_cache;  // used on the loop's thread
  inference::Chat chat;
  inference::ModelLists model_lists;
  std::mutex mutex;  // of the next two
  inference::ModelSettings models;
  int processes = 1;  // that share the limits of `models`
};

InferenceComponent::InferenceComponent(const Settings& settings, net::Loop& loop, base::Pool& pool,
                                       base::Metrics& metrics, inference::LocalSpeech speech)
    : impl_(std::make_unique<Impl>(settings, loop, pool, metrics, std::move(speech))) {}
InferenceComponent::~InferenceComponent() {
  if (!impl_->chat.stop()) base::log_error("attempts_not_ended");
}

inference::Chat& InferenceComponent::chat() { return impl_->chat; }
net::Loop& InferenceComponent::loop() { return impl_->loop; }
inference::ModelLists& InferenceComponent::model_lists() { return impl_->model_lists; }
net::HttpClient& InferenceComponent::client() { return impl_->client; }
void InferenceComponent::reload(const inference::ModelSettings& models) {
  const std::lock_guard lock(impl_->mutex);
  impl_->models = models;
  impl_->chat.reload(registry_of(models, impl_->processes));
  impl_->model_lists.reload(models);
}

void InferenceComponent::share_limits(int processes) {
  const std::lock_guard lock(impl_->mutex);
  if (std::exchange(impl_->processes, processes) == processes) return;
  impl_->chat.reload(registry_of(impl_->models, processes));
}

}  // namespace millrace::app
