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

ProviderChat::ProviderChat(ChatSource source, LoopLink home, std::weak_ptr<inference::ChatSink> asker)
    : source_(source), home_(std::move(home)), asker_(std::move(asker)) {}

void ProviderChat::start(schemas::ChatRequest request) {
  auto shared = std::make_shared<schemas::ChatRequest>(std::move(request));
  source_.loop.post([self = shared_from_this(), shared] {
    if (!self->cancelled_) self->run_ = self->source_.chat.start(std::move(*shared), *self);
  });
}

void ProviderChat::cancel() {
  source_.loop.post([self = shared_from_this()] {
    self->cancelled_ = true;
    if (const auto run = std::exchange(self->run_, nullptr)) run->cancel();
  });
}

bool ProviderChat::at_home(std::function<void(inference::ChatSink*)> f) const {
  return home_.post([self = shared_from_this(), f = std::move(f)] {
    const auto asker = self->asker_.lock();
    f(asker.get());
  });
}

void ProviderChat::on_head(const inference::ChatHead& head) {
  at_home([head](inference::ChatSink* asker) {
    if (asker) asker->on_head(head);
  });
}

void ProviderChat::before_sending(std::function<void(bool go)> go) {
  auto back = [&loop = source_.loop, go](bool yes) { loop.post([go, yes] { go(yes); }); };
  const bool posted = at_home([back = std::move(back)](inference::ChatSink* asker) {
    if (!asker) return back(false);
    asker->before_sending(back);
  });
  if (!posted) go(false);
}

void ProviderChat::on_failed_calls(const inference::ChatHead& head, std::optional<double> cost_usd) {
  at_home([head, cost_usd](inference::ChatSink* asker) {
    if (asker) asker->on_failed_calls(head, cost_usd);
  });
}

void ProviderChat::on_end(base::Result<inference::ChatEnd> end) {
  auto result = std::make_shared<base::Result<inference::ChatEnd>>(std::move(end));
  at_home([result](inference::ChatSink* asker) {
    if (asker) asker->on_end(std::move(*result));
  });
}

}  // namespace millrace::workers
