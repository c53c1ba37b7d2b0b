#include "ai/inference/media/media_run.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "ai/inference/routing/routing.h"

namespace millrace::inference {
namespace {

using schemas::Refusal;

Ability ability_for(Work work) {
  switch (work) {
    case Work::kChat:
      return Ability::kChat;
    case Work::kEmbeddings:
      return Ability::kEmbeddings;
    case Work::kImages:
      return Ability::kImages;
    case Work::kSpeech:
    case Work::kTranscription:
      return Ability::kAudio;
    case Work::kOcr:
      return Ability::kOcr;
  }
  return Ability::kChat;
}

std::string_view verb(Ability ability) {
  switch (ability) {
    case Ability::kChat:
      return "chat";
    case Ability::kEmbeddings:
      return "make embeddings";
    case Ability::kImages:
      return "make images";
    case Ability::kAudio:
      return "transcribe or speak";
    case Ability::kOcr:
      return "read documents";
  }
  return "";
}

std::optional<Refusal> refusal_of(const Model& model, const MediaRequest& media_request) {
  const Ability needed = ability_for(media_request.work());
  for (const ModelRow& row : model.rows) {
    if (!serves(row, needed)) {
      std::string message = "model '" + model.name + "' does not ";
      return Refusal{base::error(base::Code::kBadRequest, message.append(verb(needed)), "model"), {}};
    }
    if (auto refusal = media_request.refusal(row)) return refusal;
  }
  return std::nullopt;
}

std::vector<ModelPtr> with_fallbacks(const Registry& registry, const ModelPtr& model,
                                     const MediaRequest& media_request) {
  std::vector<ModelPtr> out{model};
  for (const ModelRow& row : model->rows) {
    for (const std::string& name : row.fallbacks) {
      base::Result<ModelPtr> other = registry.find(name);
      if (!other || refusal_of(**other, media_request)) continue;
      if (!allows(media_request.allowed_models(), name, (*other)->name)) continue;
      const bool known = std::any_of(out.begin(), out.end(),
                                     [&](const ModelPtr& each) { return each->name == (*other)->name; });
      if (!known && out.size() <= kRouteModelsMax) out.push_back(*std::move(other));
    }
  }
  return out;
}

}  // namespace

std::optional<Refusal> refusal_of(const Registry& registry, const MediaRequest& media_request) {
  const base::Result<ModelPtr> model = registry.find(media_request.model());
  if (!model) return Refusal{model.error(), {}};
  return refusal_of(**model, media_request);
}

tl::expected<std::vector<TargetCandidate>, Refusal> choose_targets(ChatShared& shared,
                                                                   const Registry& registry,
                                                                   const MediaRequest& media_request) {
  if (auto refusal = refusal_of(registry, media_request)) return tl::make_unexpected(*std::move(refusal));
  std::vector<TargetCandidate> targets;
  for (const ModelPtr& model :
       with_fallbacks(registry, *registry.find(media_request.model()), media_request)) {
    for (const ModelRow* row : by_weight(*model, [&shared] { return shared.random_fraction(); }))
      targets.push_back({model, row, shared.targets.of(*row), media_request.work()});
  }
  return targets;
}

CostBound max_cost(const Registry& registry, MediaRequest& media_request) {
  CostBound bound;
  const base::Result<ModelPtr> named = registry.find(media_request.model());
  if (!named) return bound;
  for (const ModelPtr& model : with_fallbacks(registry, *named, media_request)) {
    for (const ModelRow& row : model->rows) {
      const std::size_t parts = media_request.begin(row.target);
      for (std::size_t part = 0; part < parts; ++part) {
        const Use most = media_request.most(row.target, part);
        widen(bound, row, max_cost(row, most.usage, most.units));
      }
    }
  }
  return bound;
}

void MediaRun::begin() {
  shared_->live.add(*this);
  shared_->loop.post([self = shared_from_this()] {
    const auto ended = [self] { self->shared_->live.remove(*self); };
    if (self->silent_) return ended();
    net::spawn(self->work(), ended);
  });
}

// Deferred, because the caller may run inside a callback of the call that is cancelled.
void MediaRun::cancel() {
  silent_ = true;
  media_request_->drop_sink();
  shared_->loop.post([self = shared_from_this()] { self->cancel_.request(); });
}

void MediaRun::resume() {
  if (executor_) executor_->resume();
}

std::optional<MediaResult> MediaRun::calls() const {
  if (!executor_ || executor_->head().attempts == 0) return std::nullopt;
  MediaResult calls{executor_->head(), executor_->cost_usd(), executor_->charged()};
  if (calls.cost_usd == 0) calls.cost_usd.reset();  // no call had a cost
  return calls;
}

// A cancelled run sends nothing more, whatever the answer is.
BeforeSending MediaRun::until_cancelled(BeforeSending ask) {
  return [weak = weak_from_this(), ask = std::move(ask)](const CallCost& cost, std::function<void(bool)> go) {
    ask(cost, [weak, go = std::move(go)](bool goes) {
      const auto self = weak.lock();
      go(goes && self && !self->silent_);
    });
  };
}

net::Task<void> MediaRun::work() {
  auto targets = choose_targets(*shared_, *registry_, *media_request_);
  if (!targets) {
    end(targets.error().error);
    co_return;
  }
  if (before_sending_) before_sending_ = until_cancelled(std::move(before_sending_));
  executor_.emplace(*shared_, pool_, *registry_, *std::move(targets), *media_request_, tenant_,
                    before_sending_, cancel_);
  net::Task<base::Status> wait = executor_->run();
  base::Status status = co_await wait;
  end(std::move(status));
}

void MediaRun::end(base::Status status) {
  if (std::exchange(silent_, true)) return;
  if (!status) return media_request_->on_end(std::move(status.error()));
  media_request_->on_end(MediaResult{executor_->head(), executor_->cost_usd(), executor_->charged()});
}

}  // namespace millrace::inference
