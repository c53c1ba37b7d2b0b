#include "ai/inference/chat/chat_run.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "ai/inference/routing/routing.h"
#include "ai/providers/call.h"
#include "platform/net/http/http_task.h"
#include "schemas/json/json_tree.h"

namespace millrace::inference {

using schemas::ChatPiece;

namespace {

std::int64_t unix_seconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

// A request that would wait for one target of a model goes to another target with capacity.
bool has_capacity(const TargetCandidate& candidate, const std::string& tenant) {
  return candidate.state->limiter.capacity(candidate.row->limits, tenant).calls > 0;
}

}  // namespace

ChatRunImpl::ChatRunImpl(std::shared_ptr<ChatShared> shared, RegistryPtr registry,
                         schemas::ChatRequest request, ChatSink& sink)
    : shared_(std::move(shared)),
      registry_(std::move(registry)),
      request_(std::make_unique<schemas::ChatRequest>(std::move(request))),
      sink_(&sink) {}

void ChatRunImpl::begin() {
  shared_->live.add(*this);
  shared_->loop.post([self = shared_from_this()] {
    const auto ended = [self] { self->shared_->live.remove(*self); };
    if (self->sink_ == nullptr) return ended();
    net::spawn(self->work(), ended);
  });
}

// Deferred, because the caller may run inside a callback of the call that is cancelled.
void ChatRunImpl::cancel() {
  sink_ = nullptr;
  shared_->loop.post([self = shared_from_this()] { self->cancel_.request(); });
}

void ChatRunImpl::resume() {
  if (executor_) executor_->resume();
}

base::Result<std::vector<TargetCandidate>> ChatRunImpl::choose_targets() {
  base::Result<std::vector<ModelPtr>> models = candidates(*registry_, *request_);
  if (!models) return models.error();
  std::vector<TargetCandidate> targets;
  for (const ModelPtr& model : with_fallbacks(*registry_, std::move(*models), *request_)) {
    const auto first = static_cast<std::ptrdiff_t>(targets.size());
    for (const ModelRow* row : by_weight(*model, [this] { return shared_->random_fraction(); }))
      targets.push_back({model, row, shared_->targets.of(*row), Work::kChat});
    if (!request_->deferred) continue;
    std::stable_partition(targets.begin() + first, targets.end(), [this](const TargetCandidate& candidate) {
      return has_capacity(candidate, request_->tenant);
    });
  }
  return targets;
}

AttemptCallbacks ChatRunImpl::callbacks() {
  AttemptCallbacks callbacks;
  callbacks.on_piece = [this](ChatPiece&& piece) { on_piece(std::move(piece)); };
  callbacks.on_pause = [this] {
    if (sink_ != nullptr) sink_->on_pause();
  };
  callbacks.is_ready = [this] { return sink_ == nullptr || sink_->is_ready(); };
  callbacks.before_sending = [this](const CallCost& cost, std::function<void(bool)> go) {
    if (sink_ == nullptr) return go(false);
    sink_->before_sending(cost, [weak = weak_from_this(), go = std::move(go)](bool goes) {
      const auto self = weak.lock();
      go(goes && self && self->sink_ != nullptr);  // a cancelled run sends nothing more
    });
  };
  if (request_->mcp_servers.empty()) callbacks.on_begun = [this](bool is_large) { drop_request(is_large); };
  return callbacks;
}

net::Task<void> ChatRunImpl::work() {
  net::Task<ReplyOrError> wait = answer();
  ReplyOrError reply = co_await wait;
  end(std::move(reply));
  tool_loop_.reset();  // ends its sessions with tool servers now, even if the run is still referenced
}

// A separate coroutine, so that these variables are not in the frame that waits for the answer.
net::Task<std::optional<ReplyOrError>> ChatRunImpl::prepare_attempts() {
  base::Result<std::vector<TargetCandidate>> targets = choose_targets();
  if (!targets) co_return targets.error();
  FallbackExecutor::Options options{
      request_->stream, request_->deferred, request_->priority, {}, request_->tenant};
  options.requested_output = requested_output(*request_);
  base::Result<ReplySchema::Ptr> schema = ReplySchema::Ptr();
  if (request_->body.contains("response_format") || request_->body.contains("tools")) {
    const bool is_large = schemas::tree_bytes(request_->body) > kSmallJson;
    schema = net::work_failed();
    net::Task<void> read = net::run_on_pool(shared_->loop, shared_->pool, is_large,
                                            [&] { schema = ReplySchema::of(request_->body); });
    co_await read;
  }
  if (!schema) co_return schema.error();
  options.schema = *std::move(schema);
  executor_.emplace(*shared_, registry_, std::move(*targets), std::move(options), callbacks(), cancel_);
  co_return std::nullopt;
}

net::Task<ReplyOrError> ChatRunImpl::answer() {
  std::optional<ReplyOrError> refused = co_await prepare_attempts();
  if (refused) co_return std::move(*refused);
  if (request_->mcp_servers.empty()) {
    net::Task<ReplyOrError> wait = executor_->request_reply(*request_);
    co_return co_await wait;
  }
  tool_loop_ = std::make_unique<ToolLoop>(
      *shared_, *registry_, *request_, *executor_, cancel_,
      [this](ChatPiece&& piece) { send_piece(std::move(piece)); }, [this] { deliver_head(); });
  net::Task<ReplyOrError> wait = tool_loop_->run();
  co_return co_await wait;
}

// Frees the request: a stream may be long and does not need it. Large requests are freed on the pool.
void ChatRunImpl::drop_request(bool is_large) {
  const std::shared_ptr<schemas::ChatRequest> gone = std::move(request_);
  const bool elsewhere = is_large && shared_->pool.post_reply(base::Pool::Queue::kLarge, [gone] {});
  static_cast<void>(elsewhere);
}

void ChatRunImpl::on_piece(ChatPiece&& piece) {
  if (tool_loop_) return tool_loop_->on_piece(std::move(piece));
  send_piece(std::move(piece));
}

void ChatRunImpl::deliver_head() {
  if (sink_ != nullptr && !std::exchange(head_delivered_, true)) sink_->on_head(executor_->head());
}

void ChatRunImpl::send_piece(ChatPiece&& piece) {
  deliver_head();
  if (sink_ != nullptr) sink_->on_piece(std::move(piece));
}

void ChatRunImpl::end(ReplyOrError reply) {
  if (!reply) {
    ChatSink* sink = std::exchange(sink_, nullptr);
    if (sink == nullptr) return;
    if (executor_ && executor_->head().attempts > 0)
      sink->on_failed_calls(executor_->head(), executor_->cost_usd(), executor_->charged());
    return sink->on_end(reply.error());
  }
  process_reply(executor_->target(), reply, [&] {
    executor_->remember_reasoning();
    deliver_head();
  });
  if (!reply) return end(std::move(reply));
  ChatSink* sink = std::exchange(sink_, nullptr);
  if (sink == nullptr) return;
  ChatResult end;
  end.reply = std::move(*reply);
  end.reply.id = executor_->head().id;
  end.reply.model = executor_->head().model;
  if (end.reply.created == 0) end.reply.created = unix_seconds();
  end.cost_usd = executor_->cost_usd();
  end.charged = executor_->charged();
  try {
    sink->on_end(std::move(end));
  } catch (const std::exception& fault) {
    sink->on_end(providers::reading_failed(executor_->target(), fault));
  }
}

}  // namespace millrace::inference
