#include "ai/inference/routing/model_lists.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "platform/base/log.h"

namespace millrace::inference {
namespace {

using Clock = std::chrono::steady_clock;

struct Provider {
  providers::Target target;
  std::vector<providers::ListedModel> models;
  std::optional<Clock::time_point> requested_at;  // start of the last request
  bool answered = false;                          // with success or failure
  std::shared_ptr<net::HttpClient::Transfer> transfer;
};

}  // namespace

struct ModelLists::Impl : std::enable_shared_from_this<Impl> {
  Impl(Dependencies g, ModelListOptions o) : dependencies(g), options(o) {}

  std::vector<std::shared_ptr<Provider>> due();
  void begin(const std::shared_ptr<Provider>& provider);
  void answered(const std::shared_ptr<Provider>& provider, base::Result<net::HttpReply> reply);
  void take(const std::shared_ptr<Provider>& provider,
            base::Result<std::vector<providers::ListedModel>> models);
  void notify();
  bool all_received() const;
  List list() const;

  const Dependencies dependencies;
  const ModelListOptions options;
  mutable std::mutex mutex;  // guards the members below
  std::vector<std::shared_ptr<Provider>> all;
  std::vector<std::function<void(List)>> waiting;
  net::Loop::Timer first_wait;
  bool closed = false;
};

bool ModelLists::Impl::all_received() const {
  return std::ranges::all_of(all, [](const auto& each) { return each->answered; });
}

ModelLists::List ModelLists::Impl::list() const {
  auto out = std::make_shared<std::vector<Listed>>();
  for (const auto& provider : all) {
    const std::string name(provider->target.preset->name);
    for (const providers::ListedModel& model : provider->models)
      out->push_back({std::string(name).append("/").append(model.id), name, model});
  }
  return out;
}

// The providers to request now. Marks them as requested.
std::vector<std::shared_ptr<Provider>> ModelLists::Impl::due() {
  std::vector<std::shared_ptr<Provider>> out;
  const Clock::time_point now = Clock::now();
  for (const auto& provider : all) {
    if (provider->requested_at && now - *provider->requested_at < options.keep) continue;
    provider->requested_at = now;
    out.push_back(provider);
  }
  return out;
}

void ModelLists::Impl::begin(const std::shared_ptr<Provider>& provider) {
  net::HttpRequest request = providers::model_list_request(provider->target);
  request.total_timeout = options.timeout;
  net::HttpClient::Handlers handlers;
  handlers.on_done = [weak = weak_from_this(), provider](base::Result<net::HttpReply> reply) {
    if (const auto self = weak.lock()) self->answered(provider, std::move(reply));
  };
  auto transfer = dependencies.client.start(std::move(request), std::move(handlers));
  const std::lock_guard lock(mutex);
  provider->transfer = std::move(transfer);
}

void ModelLists::Impl::answered(const std::shared_ptr<Provider>& provider,
                                base::Result<net::HttpReply> reply) {
  if (!reply) return take(provider, reply.error());
  if (reply->status != 200)
    return take(provider, providers::upstream_error(provider->target, reply->status, reply->headers, {}));
  auto body = std::make_shared<const std::string>(std::move(reply->body));
  const bool posted =
      dependencies.pool.post(base::Pool::Queue::kLarge, [weak = weak_from_this(), provider, body] {
        if (const auto self = weak.lock())
          self->take(provider, providers::read_model_list(provider->target, *body));
      });
  if (!posted) take(provider, base::error(base::Code::kOverloaded, "the pool is full"));
}

void ModelLists::Impl::take(const std::shared_ptr<Provider>& provider,
                            base::Result<std::vector<providers::ListedModel>> models) {
  if (!models) {
    base::log_info("models_list_failed", {{"provider", std::string(provider->target.preset->name)},
                                          {"reason", models.error().message}});
  }
  bool all_parts_received = false;
  {
    const std::lock_guard lock(mutex);
    provider->answered = true;
    provider->transfer.reset();
    if (models) provider->models = *std::move(models);
    all_parts_received = all_received();
  }
  if (all_parts_received) notify();
}

void ModelLists::Impl::notify() {
  std::vector<std::function<void(List)>> callbacks;
  List now;
  {
    const std::lock_guard lock(mutex);
    if (closed) return;
    first_wait.cancel();
    callbacks.swap(waiting);
    if (!callbacks.empty()) now = list();
  }
  for (const auto& each : callbacks) each(now);
}

ModelLists::ModelLists(Dependencies dependencies, const ModelSettings& settings, ModelListOptions options)
    : impl_(std::make_shared<Impl>(dependencies, options)) {
  reload(settings);
}

ModelLists::~ModelLists() {
  std::vector<std::shared_ptr<net::HttpClient::Transfer>> open;
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->closed = true;
    impl_->waiting.clear();
    impl_->first_wait.cancel();
    for (const auto& provider : impl_->all) {
      if (provider->transfer) open.push_back(std::move(provider->transfer));
    }
  }
  for (const auto& transfer : open) impl_->dependencies.client.cancel(transfer);
}

void ModelLists::fetch(std::function<void(List)> done) {
  std::vector<std::shared_ptr<Provider>> due;
  List now;
  {
    const std::lock_guard lock(impl_->mutex);
    due = impl_->due();
    if (impl_->all_received()) {
      now = impl_->list();
    } else {
      if (impl_->waiting.empty()) {
        impl_->first_wait =
            impl_->dependencies.loop.after(impl_->options.first_wait, [weak = std::weak_ptr(impl_)] {
              if (const auto parts = weak.lock()) parts->notify();
            });
      }
      impl_->waiting.push_back(done);
    }
  }
  for (const auto& provider : due) impl_->begin(provider);
  if (now) done(std::move(now));
}

ModelLists::List ModelLists::known() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->list();
}

void ModelLists::reload(const ModelSettings& settings) {
  const std::lock_guard lock(impl_->mutex);
  std::vector<std::shared_ptr<Provider>> before = std::exchange(impl_->all, {});
  for (const providers::Target& target : settings.open_providers) {
    if (target.preset->family == providers::Family::kMock) continue;
    auto provider = std::make_shared<Provider>();
    const auto old = std::ranges::find_if(before, [&](const auto& each) {
      return each->target.preset == target.preset && each->target.base_url == target.base_url;
    });
    if (old != before.end()) {
      provider->models = (*old)->models;
      provider->answered = (*old)->answered;
    }
    provider->target = target;
    impl_->all.push_back(std::move(provider));
  }
}

}  // namespace millrace::inference
