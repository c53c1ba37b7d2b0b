#include "workers/chat/provider_chat.h"

#include <utility>

namespace millrace::workers {

base::Error no_remote_model(const std::string& name) {
  return base::error(base::Code::kModelNotFound,
                     "model '" + name +
                         "' does not exist at any provider that this worker has configured; it existed when "
                         "the job was created",
                     "model");
}

storage::JobOutcomes::ModelCall model_call(const inference::CallCost& cost, schemas::NanoUsd used_before) {
  storage::JobOutcomes::ModelCall call;
  call.attempt_max.reset();
  if (!cost.max) return call;
  call.attempt_max = schemas::sum(used_before, cost.run_max);
  call.used_before = schemas::Charge{.cost = *call.attempt_max - *cost.max};
  return call;
}

inference::BeforeSending on_chat_loop(net::Loop& loop, inference::BeforeSending before_sending) {
  if (!before_sending) return {};
  return [&loop, before_sending = std::move(before_sending)](const inference::CallCost& cost,
                                                             std::function<void(bool go)> go) {
    before_sending(cost, [&loop, go = std::move(go)](bool yes) { loop.post([go, yes] { go(yes); }); });
  };
}

ProviderChat::ProviderChat(ChatSource source, WeakLoop home, std::weak_ptr<Caller> caller)
    : source_(source), caller_loop_(std::move(home)), caller_(std::move(caller)) {}

void ProviderChat::start(schemas::ChatRequest request) {
  auto shared = std::make_shared<schemas::ChatRequest>(std::move(request));
  source_.loop.post([self = shared_from_this(), shared] {
    if (!self->cancelled_) self->run_ = self->source_.chat.start(std::move(*shared), *self);
  });
}

void ProviderChat::cancel(std::function<void(const schemas::Charge& charged)> done) {
  source_.loop.post([self = shared_from_this(), done = std::move(done)] {
    self->cancelled_ = true;
    const auto run = std::exchange(self->run_, nullptr);
    if (run) run->cancel();
    const schemas::Charge charged = run ? run->charged() : schemas::Charge{};
    if (done) self->caller_loop_.post([done, charged] { done(charged); });
  });
}

bool ProviderChat::post_to_caller(std::function<void(Caller*)> f) const {
  return caller_loop_.post([self = shared_from_this(), f = std::move(f)] {
    const auto caller = self->caller_.lock();
    f(caller.get());
  });
}

void ProviderChat::on_head(const inference::ChatHead& head) {
  post_to_caller([head](Caller* caller) {
    if (caller) caller->on_head(head);
  });
}

void ProviderChat::before_sending(const inference::CallCost& cost, std::function<void(bool go)> go) {
  auto back = [&loop = source_.loop, go](bool yes) { loop.post([go, yes] { go(yes); }); };
  const bool posted = post_to_caller([cost, back = std::move(back)](Caller* caller) {
    if (!caller) return back(false);
    caller->before_sending(cost, back);
  });
  if (!posted) go(false);
}

void ProviderChat::on_failed_calls(const inference::ChatHead& head, std::optional<double> cost_usd,
                                   const schemas::Charge& charged) {
  post_to_caller([head, cost_usd, charged](Caller* caller) {
    if (caller) caller->on_failed_calls(head, cost_usd, charged);
  });
}

void ProviderChat::on_end(base::Result<inference::ChatResult> end) {
  auto result = std::make_shared<base::Result<inference::ChatResult>>(std::move(end));
  post_to_caller([result, charged = run_ ? run_->charged() : schemas::Charge{}](Caller* caller) {
    if (!caller) return;
    if (!*result) caller->on_charged(charged);
    caller->on_end(std::move(*result));
  });
}

}  // namespace millrace::workers
